#include "tools/watch/http_answers.hpp"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/watch/statuses.hpp"

namespace tickpath::watch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kToken = "0123456789abcdef";

class HttpAnswers : public testing::Test {
 protected:
  HttpAnswers() {
    snapshot_.view = view_of(two_looks());
    snapshot_.statuses = five_statuses();
    rules_.run_dir = "run";
    request_.method = "GET";
    request_.target = "/";
    request_.host = "127.0.0.1:9464";
  }
  HttpAnswer answer() const { return answer_to(request_, rules_, &snapshot_); }
  HttpAnswer get(std::string_view target) {
    request_.target = target;
    return answer();
  }

  Snapshot snapshot_;
  HttpRules rules_;
  HttpRequest request_;
};

TEST_F(HttpAnswers, ThePageItsPartsTheViewAndTheMetrics) {
  EXPECT_THAT(get("/").body, HasSubstr("<!doctype html>"));
  EXPECT_THAT(get("/page.css").type, HasSubstr("text/css"));
  EXPECT_THAT(get("/page.js").body, HasSubstr("EventSource"));
  EXPECT_THAT(get("/view.json").body, HasSubstr("\"programs\""));
  EXPECT_THAT(get("/metrics").body, HasSubstr("tickpath_up"));
  EXPECT_THAT(get("/metrics?all=1").body, HasSubstr("tickpath_counter"));
  EXPECT_TRUE(get("/events").events);
  EXPECT_EQ(get("/nothing").status, 404u);
  EXPECT_EQ(get("").status, 404u);
  request_.target = "/metrics";
  EXPECT_EQ(answer_to(request_, rules_, nullptr).status, 503u);
}

// No request to another host.
TEST_F(HttpAnswers, ThePageNamesNoOtherHost) {
  for (const char* const part : {"/", "/page.css", "/page.js"}) {
    std::string body = get(part).body;
    const std::string space = "http://www.w3.org/2000/svg";  // a name, and no address that is asked
    if (const auto at = body.find(space); at != std::string::npos) body.erase(at, space.size());
    EXPECT_EQ(body.find("://"), std::string::npos) << part;
  }
}

TEST_F(HttpAnswers, AnotherMethodIsRefused) {
  for (const char* const method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "", "get"}) {
    request_.method = method;
    EXPECT_EQ(answer().status, 405u) << method;
  }
  request_.method = "HEAD";
  EXPECT_EQ(answer().status, 200u);
}

TEST_F(HttpAnswers, WithoutATokenTheNameOfThisMachineAloneIsAnswered) {
  for (const char* const own :
       {"127.0.0.1", "localhost:9464", "[::1]:9464", "[::1]", "127.0.0.2:1"}) {
    request_.host = own;
    EXPECT_EQ(answer().status, 200u) << own;
  }
  for (const char* const other : {"", "example.com", "example.com:9464", "127.example.com", "[::1",
                                  ":", "localhost.example.com"}) {
    request_.host = other;
    EXPECT_EQ(answer().status, 403u) << other;
  }
}

TEST_F(HttpAnswers, ATokenIsTakenInThreeWaysAndNoOther) {
  rules_.token = kToken;
  request_.host = "example.com";
  EXPECT_EQ(answer().status, 401u);
  const std::string bearer = std::string("Bearer ") + kToken,
                    cookie = std::string("a=b; tickpath_token=") + kToken;
  request_.authorization = bearer;
  EXPECT_EQ(answer().status, 200u);
  for (const char* const wrong :
       {"Bearer 0123456789abcdee", "Bearer 0123456789abcde", "Bearer 0123456789abcdeff", "Bearer ",
        "Basic 0123456789abcdef", "0123456789abcdef"}) {
    request_.authorization = wrong;
    EXPECT_EQ(answer().status, 401u) << wrong;
  }
  request_.authorization = {};
  request_.cookie = cookie;
  EXPECT_EQ(answer().status, 200u);
  request_.cookie = "xtickpath_token=0123456789abcdef";
  EXPECT_EQ(answer().status, 401u);
  request_.cookie = {};
  const HttpAnswer first = get("/?token=0123456789abcdef");
  EXPECT_EQ(first.status, 303u);
  EXPECT_THAT(first.fields,
              ElementsAre(std::pair<std::string, std::string>("Location", "/"),
                          std::pair<std::string, std::string>(
                              "Set-Cookie", std::string("tickpath_token=") + kToken +
                                                "; Path=/; HttpOnly; SameSite=Strict")));
  EXPECT_EQ(get("/?token=").status, 401u);
}

TEST_F(HttpAnswers, AKillIsTakenOnlyWhereThatWasAskedFor) {
  request_.method = "POST";
  request_.content_type = "application/json";
  request_.body = R"({"strategy": 2})";
  EXPECT_EQ(get("/kill").status, 403u);
  rules_.control = true;
  EXPECT_THAT(get("/kill").command, ElementsAre("kill", "--run-dir", "run", "--strategy", "2"));
  request_.body = R"({"strategy": "all"})";
  EXPECT_THAT(get("/unkill").command, ElementsAre("unkill", "--run-dir", "run"));
  for (const char* const body :
       {"", "{}", "[]", "2", R"({"strategy": -1})", R"({"strategy": 256})", R"({"strategy": "2"})",
        R"({"strategy": null})", R"({"strategy": 2.0})", "{\"strategy\": \"--force\"}", "\xff"}) {
    request_.body = body;
    const HttpAnswer refused = get("/kill");
    EXPECT_EQ(refused.status, 400u) << body;
    EXPECT_TRUE(refused.command.empty()) << body;
  }
  request_.body = R"({"strategy": 2})";
  request_.content_type = "text/plain";  // what a form of another site can send
  EXPECT_EQ(get("/kill").status, 415u);
  request_.method = "GET";
  EXPECT_EQ(get("/kill").status, 405u);
}

TEST_F(HttpAnswers, AnyBytesGetAnAnswer) {
  std::mt19937_64 random(11);
  rules_.control = true;
  const std::vector<std::string> parts{"/",
                                       "/metrics",
                                       "?",
                                       "token=",
                                       "&",
                                       "=",
                                       ";",
                                       "tickpath_token=",
                                       "Bearer ",
                                       "POST",
                                       "/kill",
                                       "application/json",
                                       "{\"strategy\":",
                                       "[",
                                       "]",
                                       ":",
                                       "127.",
                                       "localhost"};
  const auto text = [&] {
    std::string made;
    for (auto count = random() % 6; count > 0; --count)
      made += random() % 3 == 0 ? std::string(1, static_cast<char>(random()))
                                : parts[random() % parts.size()];
    return made;
  };
  for (int i = 0; i < 20'000; ++i) {
    rules_.token = random() % 2 == 0 ? Secret() : Secret(kToken);
    const std::string method = text(), target = text(), host = text(), authorization = text(),
                      cookie = text(), type = text(), body = text();
    const HttpAnswer made =
        answer_to({method, target, host, authorization, cookie, type, body}, rules_, nullptr);
    EXPECT_GE(made.status, 200u);
    EXPECT_LE(made.status, 599u);
    if (made.status == 200 && !rules_.token.empty())
      EXPECT_TRUE((authorization + cookie).find(kToken) != std::string::npos);
  }
}

}  // namespace
}  // namespace tickpath::watch
