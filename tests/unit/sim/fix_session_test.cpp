// The exchange's FIX session as a peer meets it, in both versions: logons, gaps, resends, restarts,
// garbled messages. fix_script.hpp tells the language.

#include "fix_script.hpp"

namespace tickpath::sim {
namespace {

using FixSession = ScriptTest;

TEST_P(FixSession, FollowsItsScript) {
  FixScript script(std::get<1>(GetParam()));
  EXPECT_EQ(script.run_case(std::get<0>(GetParam()).text), "");
}

const Script kLogonScripts[] = {
    {"AnswersTheLogonAndTakesItsHeartbeatInterval", R"(
connect
> A 98=0|108=45
< A 34=1|98=0|108=45
)"},
    {"EndsTheConnectionOfAWrongSender", R"(
connect
> A 49=OTHER|98=0|108=30
<closed
)"},
    {"EndsTheConnectionOfAWrongTarget", R"(
connect
> A 56=OTHER|98=0|108=30
<closed
)"},
    {"AnswersALogonOfAnotherVersionByALogoutThatSaysSo", R"(
connect
4.2 > A 8=FIX.4.4|98=0|108=30
4.4 > A 8=FIX.4.2|98=0|108=30
< 5 58=Incorrect BeginString
drop
)"},
    {"EndsTheConnectionWhoseFirstMessageIsNoLogon", R"(
connect
> D 11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
<closed
connect
seq 1
> 0
<closed
)"},
    {"EndsTheConnectionOfALogonWithoutAHeartbeatInterval", R"(
connect
> A 98=0
<closed
)"},
    {"EndsTheConnectionOfALogonWithANegativeHeartbeatInterval", R"(
connect
> A 98=0|108=-5
< 5
<closed
)"},
    {"EndsTheConnectionOfALogonWhoseHeartbeatIntervalIsNoNumber", R"(
connect
> A 98=0|108=abc
< 5
<closed
connect
seq 1
> A 98=0|108=1.5
< 5
<closed
connect
seq 1
> A 98=0|108=+30
< 5
<closed
connect
seq 1
> A 98=0|108=3e1
< 5
<closed
connect
seq 1
> A 98=0|108=99999999999999999999
< 5
<closed
)"},
    {"SendsNoHeartbeatsForAnIntervalOfZero", R"(
connect
> A 98=0|108=0
< A 34=1|98=0|108=0
<none
> 1 112=HELLO
< 0 112=HELLO
)"},
    {"EndsTheConnectionOfAGarbledLogon", R"(
connect
>~ A 98=0|108=30
<closed
connect
seq 1
logon
)"},
    {"ALogonWithATooLowNumberEndsTheConnectionAndSaysWhy", R"(
> D 11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 150=0
drop
connect
seq 1
> A 98=0|108=30
< 5 58=MsgSeqNum too low, expecting 3 but received 1
<closed
connect
seq 3
logon
)"},
    {"ALogonWithATooHighNumberIsAnsweredAndTheGapAskedFor", R"(
connect
seq 4
logon
< 2 7=1|16=0
> 4 34=1|43=Y|122=20261121-10:11:12|123=Y|36=5
seq 5
> D 11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 150=0|11=1
)"},
    {"ALogonMayNotStartTheNumbersAnew", R"(
> D 11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 150=0
drop
connect
seq 1
> A 98=0|108=30|141=Y
< 5 34=000000003|58=ResetSeqNumFlag (141) other than N is not allowed in this session
<closed
connect
seq 3
> A 98=0|108=30|141=N
< A 34=4|108=30
> D 11=2|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 34=000000005|150=0|11=2
> 2 7=3|16=3
< 4 34=000000003|43=Y|123=Y|36=4
)"},
    {"ALogoutIsAnsweredAndTheConnectionClosed", R"(
> 5 58=good night
< 5
<closed
connect
logon
)"},
};

const Script kSequenceScripts[] = {
    {"AnswersATestRequestAndTakesHeartbeats", R"(
> 1 112=are you there
< 0 112=are you there
> 0
> 0 112=by the way
)"},
    {"AGapInWhatWeSendIsAskedForAndTheOrdersComeInOrder", R"(
> D 34=3|11=2|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=20|40=2|44=1
< 2 7=2|16=0
> D 34=2|43=Y|122=20261121-10:11:12|11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 11=1|38=10
< 8 11=2|38=20
seq 4
)"},
    {"AResentOrderThatBreaksTheDictionaryIsRefusedInItsPlace", R"(
> D 34=3|11=2|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=20|40=2|44=1
< 2 7=2|16=0
> D 34=2|43=Y|122=20261121-10:11:12|11=1|21=1|55=ZAAA|54=Z|60=20261121-10:11:12|38=10|40=2|44=1
< 3 45=2|371=54|372=D|373=5
< 8 11=2|38=20
seq 4
)"},
    {"AGapIsFilledBySequenceReset", R"(
> D 34=5|11=2|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=20|40=2|44=1
< 2 7=2|16=0
> 4 34=2|43=Y|122=20261121-10:11:12|123=Y|36=5
< 8 11=2
seq 6
)"},
    {"AResetWithoutGapFillSetsTheNumber", R"(
> 4 34=2|123=N|36=20
seq 20
> D 11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 11=1
)"},
    {"AResetThatWouldGoBackIsRefused", R"(
> 1 112=a
< 0 112=a
> 1 112=b
< 0 112=b
> 4 34=4|123=N|36=2
< 3 372=4|373=5
)"},
    {"ResendsWhatWeMissedWithPossDupAndFillsAdministrativeGaps", R"(
> D 11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 34=000000002|11=1
> 1 112=x
< 0 34=000000003
> D 11=2|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 34=000000004|11=2
> 2 7=1|16=0
< 4 34=000000001|43=Y|123=Y|36=2
< 8 34=000000002|43=Y|11=1|150=0
< 4 34=000000003|43=Y|123=Y|36=4
< 8 34=000000004|43=Y|11=2|150=0
> 2 7=2|16=2
< 8 34=000000002|43=Y|11=1
)"},
    {"ADuplicateWithPossDupIsIgnored", R"(
> D 11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 11=1
> D 34=2|43=Y|122=20261121-10:11:12|11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
)"},
    {"ADuplicateWithoutPossDupEndsTheSession", R"(
> D 11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 11=1
> D 34=2|11=9|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 5 58=MsgSeqNum too low, expecting 3 but received 2
<closed
)"},
    {"APossDupThatWasSentBeforeItsOriginalIsRejected", R"(
> D 11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 11=1
> D 34=2|43=Y|52=20261121-10:11:12|122=20261121-10:11:13|11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 3 45=2|372=D|373=10
< 5
)"},
    {"TheExchangeResendsOverARestart", R"(
> D 11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 34=000000002|11=1
drop
restart
connect
logon
> 2 7=2|16=0
< 8 34=000000002|43=Y|11=1
< 4 34=000000003|43=Y|123=Y|36=4
> D 11=2|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 11=2
)"},
    {"TheExchangeAsksForWhatItMissedWhileItWasDown", R"(
restart
connect
seq 4
logon
< 2 7=2|16=0
> D 34=2|43=Y|122=20261121-10:11:12|11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 11=1
> 4 34=3|43=Y|122=20261121-10:11:12|123=Y|36=5
seq 5
)"},
};

const Script kGarbledScripts[] = {
    {"AWrongChecksumIsDisregardedAndItsNumberAskedFor", R"(
>~ D 11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
> D 11=2|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=20|40=2|44=1
< 2 7=2|16=0
> D 34=2|43=Y|122=20261121-10:11:12|11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 11=1
< 8 11=2
)"},
    {"AWrongLengthIsDisregardedAndItsNumberAskedFor", R"(
>- D 11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
> D 11=2|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=20|40=2|44=1
< 2 7=2|16=0
> 4 34=2|43=Y|122=20261121-10:11:12|123=Y|36=3
< 8 11=2
)"},
    {"BytesThatAreNoMessageAreDisregarded", R"(
>! GET / HTTP/1.1
>! 8=FIX.4.2|35=D|11=1|
>! 8=FIX.4.2|9=99999999999|35=D|
>! 8=FIX|9=5|35=0|10=000|
> D 11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 11=1
)"},
};

INSTANTIATE_TEST_SUITE_P(Logons, FixSession, both_versions(kLogonScripts), script_name);
INSTANTIATE_TEST_SUITE_P(Sequence, FixSession, both_versions(kSequenceScripts), script_name);
INSTANTIATE_TEST_SUITE_P(Garbled, FixSession, both_versions(kGarbledScripts), script_name);

constexpr char kLosesItsConnection[] = R"(
connect
logon
> D 11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 150=0
drop
connect
)";

class CancelOnDisconnect : public ::testing::TestWithParam<fix::Version> {};

TEST_P(CancelOnDisconnect, OrdersOutliveTheConnectionUnlessSo) {
  FixScript stays(GetParam());
  ASSERT_EQ(stays.run(kLosesItsConnection), "");
  EXPECT_EQ(stays.run("logon\n<none\n"), "");
  EXPECT_EQ(stays.matcher().live_orders(), 1u);

  FixScript leaves(GetParam(), true);
  ASSERT_EQ(leaves.run(kLosesItsConnection), "");
  EXPECT_EQ(leaves.matcher().live_orders(), 0u);
  // Its reports wait for the next logon.
  EXPECT_EQ(leaves.run("logon\n> 2 7=3|16=0\n< 8 43=Y|150=4|39=4|11=1\n"), "");
}

INSTANTIATE_TEST_SUITE_P(Versions, CancelOnDisconnect, ::testing::ValuesIn(kBothVersions));

class Reset : public ::testing::TestWithParam<fix::Version> {};

TEST_P(Reset, StartsTheNumbersAnewWhereItIsAllowed) {
  FixScript script(GetParam(), false, 0, true);
  EXPECT_EQ(script.run(R"(
connect
logon
> D 11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 150=0
drop
connect
seq 1
> A 98=0|108=30|141=Y
< A 34=1|141=Y
> D 11=2|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
< 8 34=000000002|150=0|11=2
)"),
            "");
}

INSTANTIATE_TEST_SUITE_P(Versions, Reset, ::testing::ValuesIn(kBothVersions));

class SendingTime : public ::testing::TestWithParam<fix::Version> {};

TEST_P(SendingTime, FarFromTheClockIsRejectedAndEndsTheSessionIfSo) {
  constexpr char kLate[] = R"(
connect
logon
> D 52=20100101-00:00:00|11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|40=2|44=1
)";
  FixScript any(GetParam());
  EXPECT_EQ(any.run(std::string(kLate) + "< 8 11=1\n"), "");
  FixScript strict(GetParam(), false, 120);
  EXPECT_EQ(strict.run(std::string(kLate) + "< 3 45=2|372=D|373=10\n< 5\n> 5\n<closed\n"), "");
  FixScript in_time(GetParam(), false, 120);
  EXPECT_EQ(in_time.run("connect\nlogon\n> D 11=1|21=1|55=ZAAA|54=1|60=20261121-10:11:12|38=10|"
                        "40=2|44=1\n< 8 11=1\n<none\n"),
            "");
}

INSTANTIATE_TEST_SUITE_P(Versions, SendingTime, ::testing::ValuesIn(kBothVersions));

}  // namespace
}  // namespace tickpath::sim
