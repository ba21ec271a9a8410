// Compiled as C++14: see the header.
#include "tests/support/quickfix_peer.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <sstream>
#include <stdexcept>

#include <quickfix/Application.h>
#include <quickfix/FileStore.h>
#include <quickfix/Session.h>
#include <quickfix/SessionSettings.h>
#include <quickfix/SocketAcceptor.h>
#include <quickfix/SocketInitiator.h>

// QuickFIX's virtual functions carry exception specifications; an override must repeat them.
#pragma GCC diagnostic ignored "-Wdeprecated"

namespace tickpath {
namespace test_support {
namespace {

// Its threads write, the test reads.
class Inbox final : public FIX::Application {
 public:
  void onCreate(const FIX::SessionID&) override {}
  void onLogon(const FIX::SessionID&) override {}
  void onLogout(const FIX::SessionID&) override {}
  void toAdmin(FIX::Message& message, const FIX::SessionID&) override {
    note_reject("sent: ", message);
  }
  void toApp(FIX::Message&, const FIX::SessionID&) throw(FIX::DoNotSend) override {}
  void fromAdmin(const FIX::Message& message,
                 const FIX::SessionID&) throw(FIX::FieldNotFound, FIX::IncorrectDataFormat,
                                              FIX::IncorrectTagValue, FIX::RejectLogon) override {
    note_reject("received: ", message);
  }
  void fromApp(const FIX::Message& message,
               const FIX::SessionID&) throw(FIX::FieldNotFound, FIX::IncorrectDataFormat,
                                            FIX::IncorrectTagValue,
                                            FIX::UnsupportedMessageType) override {
    QuickFixMessage taken;
    taken.type = message.getHeader().getField(FIX::FIELD::MsgType);
    for (const FIX::FieldMap* part : {static_cast<const FIX::FieldMap*>(&message.getHeader()),
                                      static_cast<const FIX::FieldMap*>(&message)})
      for (auto field = part->begin(); field != part->end(); ++field)
        taken.fields.emplace_back(field->getTag(), field->getString());
    const std::lock_guard<std::mutex> lock(mutex_);
    messages_.push_back(std::move(taken));
    arrived_.notify_one();
  }

  bool next(QuickFixMessage& message, int milliseconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!arrived_.wait_for(lock, std::chrono::milliseconds(milliseconds),
                           [this] { return !messages_.empty(); }))
      return false;
    message = std::move(messages_.front());
    messages_.pop_front();
    return true;
  }
  std::vector<std::string> rejects() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return rejects_;
  }

 private:
  void note_reject(const char* way, const FIX::Message& message) {
    if (message.getHeader().getField(FIX::FIELD::MsgType) != FIX::MsgType_Reject) return;
    std::string text = way + message.toString();
    for (char& c : text)
      if (c == '\001') c = '|';
    const std::lock_guard<std::mutex> lock(mutex_);
    rejects_.push_back(text);
  }

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<QuickFixMessage> messages_;
  std::vector<std::string> rejects_;
};

FIX::SessionSettings settings_of(const QuickFixOptions& options) {
  std::ostringstream text;
  text << "[DEFAULT]\nReconnectInterval=1\nSocketNodelay=Y\nSocketReuseAddress=Y\n[SESSION]"
          "\nBeginString="
       << options.begin_string << "\nSenderCompID=" << options.sender
       << "\nTargetCompID=" << options.target << "\nFileStorePath=" << options.folder
       << "\nUseDataDictionary=Y\nDataDictionary=" << options.dictionary
       << "\nStartTime=00:00:00\nEndTime=00:00:00\n";
  if (options.initiator)
    text << "ConnectionType=initiator\nSocketConnectHost=127.0.0.1\nSocketConnectPort="
         << options.port << "\nHeartBtInt=5\n";
  else
    text << "ConnectionType=acceptor\nSocketAcceptPort=" << options.port << "\n";
  std::istringstream stream(text.str());
  return FIX::SessionSettings(stream);
}

}  // namespace

std::string QuickFixMessage::get(int tag) const {
  for (const auto& field : fields)
    if (field.first == tag) return field.second;
  return {};
}

class QuickFixPeer::Impl {
 public:
  explicit Impl(const QuickFixOptions& options)
      : settings(settings_of(options)),
        stores(settings),
        id(options.begin_string, options.sender, options.target) {
    if (options.initiator) {
      initiator.reset(new FIX::SocketInitiator(inbox, stores, settings));
      initiator->start();
    } else {
      acceptor.reset(new FIX::SocketAcceptor(inbox, stores, settings));
      acceptor->start();
    }
  }
  ~Impl() { drop(); }

  void drop() {
    constexpr bool kForce = true;
    if (initiator) initiator->stop(kForce);
    if (acceptor) acceptor->stop(kForce);
  }

  FIX::SessionSettings settings;
  FIX::FileStoreFactory stores;
  FIX::SessionID id;
  Inbox inbox;
  std::unique_ptr<FIX::SocketInitiator> initiator;
  std::unique_ptr<FIX::SocketAcceptor> acceptor;
};

QuickFixPeer::QuickFixPeer(const QuickFixOptions& options) {
  try {
    impl_.reset(new Impl(options));
  } catch (const std::exception& error) {
    throw std::runtime_error(error.what());
  }
}

QuickFixPeer::~QuickFixPeer() = default;

void QuickFixPeer::drop() { impl_->drop(); }

bool QuickFixPeer::logged_on() const {
  FIX::Session* const session = FIX::Session::lookupSession(impl_->id);
  return session != nullptr && session->isLoggedOn();
}

void QuickFixPeer::send(const QuickFixMessage& message) {
  FIX::Message made;
  made.getHeader().setField(FIX::FIELD::MsgType, message.type);
  for (const auto& field : message.fields) {
    if (FIX::Message::isHeaderField(field.first))
      made.getHeader().setField(field.first, field.second);
    else
      made.setField(field.first, field.second);
  }
  FIX::Session::sendToTarget(made, impl_->id);
}

bool QuickFixPeer::next(QuickFixMessage& message, int milliseconds) {
  return impl_->inbox.next(message, milliseconds);
}

std::vector<std::string> QuickFixPeer::rejects() const { return impl_->inbox.rejects(); }

}  // namespace test_support
}  // namespace tickpath
