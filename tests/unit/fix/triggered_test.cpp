// A stop order that is triggered. FIX 4.2 and 4.4 have no ExecType for it.
#include <gtest/gtest.h>

#include "common/fix/dictionary.hpp"
#include "tests/support/fix_bytes.hpp"

namespace tickpath::fix {
namespace {

class Triggered : public ::testing::TestWithParam<Version> {};

TEST_P(Triggered, IsWrittenAsRestatedWithTheTypeThatTheOrderHasNow) {
  ExecutionReport report;
  report.exec_id = report.cl_ord_id = 7;
  report.leaves_qty = 10;
  report.exec_type = ExecType::kTriggered;
  report.order_type = OrderType::kLimit;
  report.symbol = Symbol::from("AAPL");
  char buffer[kMessageBytesMax];
  const Encoder encoder("SIM", "OEG", GetParam());
  const std::string text(buffer, encoder.encode(buffer, report, 1, "20261121-10:11:12.345"));
  EXPECT_NE(test_support::with_bars(text).find("|150=D|39=0|378=4|40=2|"), std::string::npos);
  Fields fields;
  ExecutionReport back;
  ASSERT_TRUE(fields.scan(text) && decode(fields, back));
  EXPECT_EQ(back.exec_type, ExecType::kRestated);
  EXPECT_EQ(back.order_type, OrderType::kLimit);
}

TEST_P(Triggered, IsReadAsFix50SaysItToo) {
  const std::string text = test_support::fix_message(
      begin_string(GetParam()),
      "35=8|49=A|56=B|34=1|52=20261121-10:11:12|37=7|11=11|17=9|20=0|150=L|39=0|55=MSFT|54=1|"
      "151=10|14=0|6=0|");
  Fields fields;
  ExecutionReport report;
  ASSERT_TRUE(fields.scan(text) && decode(fields, report));
  EXPECT_EQ(report.exec_type, ExecType::kTriggered);
}

INSTANTIATE_TEST_SUITE_P(Versions, Triggered, ::testing::Values(Version::k42, Version::k44),
                         [](const auto& each) {
                           return each.param == Version::k42 ? "Fix42" : "Fix44";
                         });

}  // namespace
}  // namespace tickpath::fix
