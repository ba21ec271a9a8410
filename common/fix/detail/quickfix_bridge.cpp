// Compiled as C++14: see the header. Includes none of our C++20 headers.
#include "common/fix/detail/quickfix_bridge.hpp"

#include <chrono>
#include <exception>
#include <stdexcept>
#include <vector>

#include <quickfix/Application.h>
#include <quickfix/Log.h>
#include <quickfix/MessageStore.h>
#include <quickfix/Responder.h>
#include <quickfix/Session.h>
#include <quickfix/SessionFactory.h>
#include <quickfix/SessionSettings.h>

// QuickFIX's virtual functions carry exception specifications; an override must repeat them.
#pragma GCC diagnostic ignored "-Wdeprecated"

namespace tickpath {
namespace fix {
namespace detail {
namespace {

// QuickFIX's store interface over the owner's store. It gives no message back: the owner resends.
class Store final : public FIX::MessageStore {
 public:
  Store(BridgeHooks& hooks, const FIX::UtcTimeStamp* const& now) : hooks_(hooks), now_(now) {}

  bool set(int seq, const std::string& message) noexcept override {
    return hooks_.store_put(seq, message.data(), message.size());
  }
  void get(int, int, std::vector<std::string>& messages) const throw(FIX::IOException) override {
    messages.clear();
  }
  int getNextSenderMsgSeqNum() const noexcept override { return hooks_.next_sender(); }
  int getNextTargetMsgSeqNum() const noexcept override { return hooks_.next_target(); }
  void setNextSenderMsgSeqNum(int seq) noexcept override { hooks_.set_next_sender(seq); }
  void setNextTargetMsgSeqNum(int seq) noexcept override { hooks_.set_next_target(seq); }
  void incrNextSenderMsgSeqNum() noexcept override {
    hooks_.set_next_sender(hooks_.next_sender() + 1);
  }
  void incrNextTargetMsgSeqNum() noexcept override {
    hooks_.set_next_target(hooks_.next_target() + 1);
  }
  // QuickFIX resets a session whose store was created on another day. Days are the owner's affair
  // (SessionTimes): it was always created at the time that QuickFIX is told to be now.
  FIX::UtcTimeStamp getCreationTime() const throw(FIX::IOException) override {
    return now_ != nullptr ? *now_ : FIX::UtcTimeStamp();
  }
  void reset() noexcept override { hooks_.store_reset(); }
  void refresh() noexcept override {}

 private:
  BridgeHooks& hooks_;
  const FIX::UtcTimeStamp* const& now_;
};

class StoreFactory final : public FIX::MessageStoreFactory {
 public:
  explicit StoreFactory(BridgeHooks& hooks) : hooks_(hooks) {}
  FIX::MessageStore* create(const FIX::SessionID&) override { return new Store(hooks_, now_); }
  void destroy(FIX::MessageStore* store) override { delete store; }
  // While QuickFIX is called with a time: midnight may come before it looks.
  void set_now(const FIX::UtcTimeStamp* now) noexcept { now_ = now; }

 private:
  BridgeHooks& hooks_;
  const FIX::UtcTimeStamp* now_ = nullptr;
};

class EventLog final : public FIX::Log {
 public:
  explicit EventLog(BridgeHooks& hooks) : hooks_(hooks) {}
  void clear() override {}
  void backup() override {}
  void onIncoming(const std::string&) override {}
  void onOutgoing(const std::string&) override {}
  void onEvent(const std::string& text) override { hooks_.on_event(text.data(), text.size()); }

 private:
  BridgeHooks& hooks_;
};

class EventLogFactory final : public FIX::LogFactory {
 public:
  explicit EventLogFactory(BridgeHooks& hooks) : hooks_(hooks) {}
  FIX::Log* create() override { return new EventLog(hooks_); }
  FIX::Log* create(const FIX::SessionID&) override { return new EventLog(hooks_); }
  void destroy(FIX::Log* log) override { delete log; }

 private:
  BridgeHooks& hooks_;
};

class Transport final : public FIX::Responder {
 public:
  explicit Transport(BridgeHooks& hooks) : hooks_(hooks) {}
  bool send(const std::string& bytes) override {
    if (resend_is_owners_ && bytes.find("\00135=4\001") != std::string::npos) return true;
    if (no_request_ && bytes.find("\00135=2\001") != std::string::npos) {
      hooks_.set_next_sender(hooks_.next_sender() - 1);  // as if it had never been made
      return true;
    }
    return hooks_.write(bytes.data(), bytes.size());
  }
  void disconnect() override { hooks_.close_transport(); }
  // While QuickFIX handles a ResendRequest that the owner answers: for want of messages (Store) it
  // would fill the gap.
  void set_resend_is_owners(bool value) noexcept { resend_is_owners_ = value; }
  // While it handles a Logon whose sender needs no ResendRequest.
  void set_no_request(bool value) noexcept { no_request_ = value; }

 private:
  BridgeHooks& hooks_;
  bool resend_is_owners_ = false;
  bool no_request_ = false;
};

class Application final : public FIX::Application {
 public:
  Application(const BridgeOptions& options, BridgeHooks& hooks, Transport& transport)
      : hooks_(hooks), transport_(transport), options_(options) {}
  // The message that QuickFIX is given next, as it came: QuickFIX keeps its fields sorted.
  void set_text(const char* text, std::size_t length) noexcept {
    text_ = text;
    length_ = length;
  }
  void onCreate(const FIX::SessionID&) override {}
  void onLogon(const FIX::SessionID&) override { hooks_.on_logon(); }
  void onLogout(const FIX::SessionID&) override { hooks_.on_logout(); }
  void toAdmin(FIX::Message& message, const FIX::SessionID&) override {
    stamp(message);
    if (message.getHeader().getField(FIX::FIELD::MsgType) != FIX::MsgType_Logon) return;
    if (options_.next_expected)
      message.setField(FIX::FIELD::NextExpectedMsgSeqNum, std::to_string(next_expected()));
    if (options_.initiator && !options_.password.empty()) add_credentials(message);
  }
  void toApp(FIX::Message& message, const FIX::SessionID&) throw(FIX::DoNotSend) override {
    stamp(message);
  }
  void fromAdmin(const FIX::Message& message,
                 const FIX::SessionID&) throw(FIX::FieldNotFound, FIX::IncorrectDataFormat,
                                              FIX::IncorrectTagValue, FIX::RejectLogon) override {
    const std::string& type = message.getHeader().getField(FIX::FIELD::MsgType);
    if (type == FIX::MsgType_Logon) {
      check_heartbeat_interval(message);
      FIX::MsgSeqNum number;
      message.getHeader().getField(number);
      logon_received_ = number.getValue();
    }
    if (type == FIX::MsgType_ResendRequest) hand_over_resend(message);
    if (type == FIX::MsgType_Reject) hooks_.on_session_reject(text_, length_);
  }
  void fromApp(const FIX::Message&,
               const FIX::SessionID&) throw(FIX::FieldNotFound, FIX::IncorrectDataFormat,
                                            FIX::IncorrectTagValue,
                                            FIX::UnsupportedMessageType) override {
    const AppVerdict verdict = hooks_.on_app_message(text_, length_);
    switch (verdict.kind) {
      case AppVerdict::kAccept:
        return;
      case AppVerdict::kBadFormat:
        throw FIX::IncorrectDataFormat(verdict.tag);
      case AppVerdict::kBadValue:
        throw FIX::IncorrectTagValue(verdict.tag);
    }
  }

 private:
  // QuickFIX takes any text for HeartBtInt (108), and throws when it is asked for the number.
  static void check_heartbeat_interval(const FIX::Message& logon) {
    const std::string text = logon.getField(FIX::FIELD::HeartBtInt);
    const bool digits = !text.empty() && text.size() <= 5 &&
                        text.find_first_not_of("0123456789") == std::string::npos;
    if (!digits)
      throw FIX::RejectLogon("HeartBtInt (108) must be a whole number of seconds, 0 to 99999");
  }
  void hand_over_resend(const FIX::Message& request) {
    FIX::BeginSeqNo begin;
    FIX::EndSeqNo end;
    request.getField(begin);
    request.getField(end);
    if (!hooks_.on_resend_request(begin.getValue(), end.getValue()))
      throw FIX::IncorrectTagValue(FIX::FIELD::BeginSeqNo);
    transport_.set_resend_is_owners(true);
  }
  // An acceptor answers before it counts the Logon that it answers.
  int next_expected() const {
    const int next = hooks_.next_target();
    return !options_.initiator && logon_received_ == next ? next + 1 : next;
  }
  void add_credentials(FIX::Message& logon) const {
    if (options_.begin_string == FIX::BeginString_FIX42) {
      logon.setField(FIX::FIELD::RawDataLength, std::to_string(options_.password.size()));
      logon.setField(FIX::FIELD::RawData, options_.password);
      return;
    }
    if (!options_.username.empty()) logon.setField(FIX::FIELD::Username, options_.username);
    logon.setField(FIX::FIELD::Password, options_.password);
  }
  // By the session's clock, as what it encodes itself: QuickFIX's own cannot be virtual.
  void stamp(FIX::Message& message) {
    message.getHeader().setField(FIX::FIELD::SendingTime, hooks_.sending_time());
  }

  BridgeHooks& hooks_;
  Transport& transport_;
  const BridgeOptions options_;
  int logon_received_ = 0;  // 34 of the last one
  const char* text_ = nullptr;
  std::size_t length_ = 0;
};

FIX::Dictionary settings_of(const BridgeOptions& options) {
  FIX::Dictionary settings;
  settings.setString(FIX::CONNECTION_TYPE, options.initiator ? "initiator" : "acceptor");
  // Start equal to end: always in session (QuickFIX, TimeRange); SessionTimes are looked at by the
  // owner.
  settings.setString(FIX::START_TIME, "00:00:00");
  settings.setString(FIX::END_TIME, "00:00:00");
  settings.setBool(FIX::USE_DATA_DICTIONARY, false);
  settings.setBool(FIX::CHECK_LATENCY, options.sending_time_max_s != 0);
  if (options.sending_time_max_s != 0)
    settings.setInt(FIX::MAX_LATENCY, options.sending_time_max_s);
  settings.setInt(FIX::HEARTBTINT, options.heartbeat_s);
  settings.setInt(FIX::LOGON_TIMEOUT, options.logon_timeout_s);
  settings.setInt(FIX::LOGOUT_TIMEOUT, options.logout_timeout_s);
  settings.setBool(FIX::RESET_ON_LOGON, options.reset_on_logon);
  return settings;
}

// The time `age_ns` ago.
FIX::UtcTimeStamp ago(std::int64_t age_ns) {
  using std::chrono::nanoseconds;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t at =
      std::chrono::duration_cast<nanoseconds>(now).count() - (age_ns > 0 ? age_ns : 0);
  return FIX::UtcTimeStamp(static_cast<time_t>(at / 1000000000), static_cast<int>(at % 1000000000),
                           9);
}

}  // namespace

class QuickFixBridge::Impl {
 public:
  Impl(const BridgeOptions& options, BridgeHooks& hooks)
      : hooks_(hooks),
        transport_(hooks),
        application_(options, hooks, transport_),
        stores_(hooks),
        logs_(hooks),
        factory_(application_, stores_, &logs_),
        session_(
            factory_.create(FIX::SessionID(options.begin_string, options.sender, options.target),
                            settings_of(options))) {}

  // work(now), in which midnight does not come.
  template <class Work>
  void at_one_time(Work&& work) noexcept {
    guarded([&] {
      const FIX::UtcTimeStamp now;
      stores_.set_now(&now);
      work(now);
    });
    stores_.set_now(nullptr);
  }

  // A failure inside QuickFIX is told and costs the connection, never the program.
  template <class Work>
  void guarded(Work&& work) noexcept {
    try {
      work();
    } catch (const FIX::InvalidMessage&) {
      // Garbled: QuickFIX has logged it, and a garbled message is disregarded.
    } catch (const std::exception& error) {
      fail(error.what());
    } catch (...) {
      fail("unknown exception inside QuickFIX");
    }
  }

  FIX::Session& session() noexcept { return *session_; }
  // Session keeps its state private, but hands it out as the Log that it also is.
  FIX::SessionState& state() noexcept {
    return static_cast<FIX::SessionState&>(*session_->getLog());
  }
  Transport& transport() noexcept { return transport_; }
  Application& application() noexcept { return application_; }

 private:
  void fail(const char* what) noexcept {
    hooks_.on_event(what, std::char_traits<char>::length(what));
    try {
      session_->disconnect();
    } catch (...) {
      hooks_.close_transport();
    }
  }

  BridgeHooks& hooks_;
  Transport transport_;
  Application application_;
  StoreFactory stores_;
  EventLogFactory logs_;
  FIX::SessionFactory factory_;
  std::unique_ptr<FIX::Session> session_;
};

QuickFixBridge::QuickFixBridge(const BridgeOptions& options, BridgeHooks& hooks) {
  try {
    impl_.reset(new Impl(options, hooks));
  } catch (const std::exception& error) {
    throw std::runtime_error(error.what());
  }
}

QuickFixBridge::~QuickFixBridge() = default;

void QuickFixBridge::attach() noexcept {
  impl_->guarded([this] {
    impl_->session().logon();  // enables it: a logout before had disabled it
    impl_->session().setResponder(&impl_->transport());
    impl_->session().next();
  });
}

void QuickFixBridge::receive(const std::string& shown, const char* message, std::size_t length,
                             bool no_request) noexcept {
  impl_->transport().set_no_request(no_request);
  impl_->application().set_text(message, length);
  impl_->at_one_time([&](const FIX::UtcTimeStamp& now) { impl_->session().next(shown, now); });
  impl_->transport().set_resend_is_owners(false);
  impl_->transport().set_no_request(false);
  // QuickFIX ends its wait at a message with the gap's last number; a gap fill that goes over it
  // has the number of the gap's beginning.
  FIX::SessionState& state = impl_->state();
  if (resend_pending() && impl_->session().getExpectedTargetNum() > state.resendRange().second)
    state.resendRange(0, 0);
}

void QuickFixBridge::tick() noexcept {
  impl_->at_one_time([this](const FIX::UtcTimeStamp& now) { impl_->session().next(now); });
}

void QuickFixBridge::logout(const char* reason, std::size_t length) noexcept {
  impl_->at_one_time([&](const FIX::UtcTimeStamp& now) {
    impl_->session().logout(std::string(reason, length));
    impl_->session().next(now);
  });
}

void QuickFixBridge::disconnect() noexcept {
  impl_->guarded([this] { impl_->session().disconnect(); });
}

bool QuickFixBridge::logged_on() const noexcept { return impl_->session().isLoggedOn(); }

bool QuickFixBridge::logout_pending() const noexcept {
  return !impl_->session().isEnabled() || impl_->session().sentLogout();
}

bool QuickFixBridge::resend_pending() const noexcept { return impl_->state().resendRequested(); }

int QuickFixBridge::missing_end() const noexcept { return impl_->state().resendRange().second; }

void QuickFixBridge::forget_queued(int seq) noexcept {
  impl_->guarded([&] {
    FIX::Message queued;
    (void)impl_->state().retrieve(seq, queued);
  });
}

int QuickFixBridge::heartbeat_s() const noexcept {
  try {
    return impl_->session().getHeartBtInt().getValue();
  } catch (const std::exception&) {
    return 0;  // no number; a Logon with one of those was refused
  }
}

void QuickFixBridge::sync_activity(std::int64_t sent_age_ns, std::int64_t received_age_ns,
                                   bool received_since) noexcept {
  impl_->guarded([&] {
    impl_->state().lastSentTime(ago(sent_age_ns));
    if (!received_since) return;
    impl_->state().lastReceivedTime(ago(received_age_ns));
    impl_->state().testRequest(0);
  });
}

}  // namespace detail
}  // namespace fix
}  // namespace tickpath
