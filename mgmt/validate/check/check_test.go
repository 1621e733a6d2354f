package check_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/validatetest"
)

func checked(of string, list ...farm.Check) *farm.Config {
	return &farm.Config{Checks: list, Farms: []farm.Farm{{
		ID: 1, Name: "dns", Profile: farm.ProfileL4, VIP: validatetest.Addr("192.0.2.1"),
		L4: &farm.L4{Ports: []farm.PortRange{{First: 53, Last: 53}}, Protocol: farm.L4UDP, NAT: farm.NATMasquerade,
			Algorithm: farm.L4Weight, TTL: 60, Check: of},
	}}}
}

func TestFarmsNameChecksThatExist(t *testing.T) {
	many := make([]farm.Check, farm.MaxChecks+1)
	for i := range many {
		many[i].Name = "c" + strings.Repeat("x", i%50) + strings.Repeat("y", i/50)
	}
	for _, c := range []struct {
		name, want string
		cfg        *farm.Config
	}{
		{"none", "", checked("")},
		{"a template", "", checked("check_tcp")},
		{"one of its own", "", checked("alive", farm.Check{Name: "alive", Command: "check_tcp -H HOST"})},
		{"another one", `farmguardian: there is no check "alife" (did you mean "alive"?)`, checked("alife", farm.Check{Name: "alive"})},
		{"a changed template", "", checked("", farm.Check{Name: "check_tcp", Interval: 3})},
		{"another command for a template", "command of a template cannot be changed", checked("", farm.Check{Name: "check_tcp", Command: "check_ping"})},
		{"another description for a template", "description of a template cannot be changed", checked("", farm.Check{Name: "check_tcp", Description: "x"})},
		{"two of a name", `name must be unique, "a" exists already`, checked("", farm.Check{Name: "a"}, farm.Check{Name: "a"})},
		{"too many", "at most 1024 are possible, got 1025", checked("", many...)},
		{"a quote that is open", "a quote is not closed", checked("", farm.Check{Name: "a", Command: "check_http -s 'x"})},
		{"a password as it is shown to others", "has *** where a password was hidden", checked("", farm.Check{Name: "a", Command: "check_x -H HOST --password=***"})},
		{"the same in two words", "has *** where a password was hidden", checked("", farm.Check{Name: "a", Command: "check_x --password '***' -H HOST"})},
		{"stars elsewhere", "", checked("", farm.Check{Name: "a", Command: "check_x -s *** --password=a***"})},
		{"a line break", "command must be a probe", checked("", farm.Check{Name: "a", Command: "check_http\nrm"})},
		{"a name like a flag", "name must be a name of letters", checked("", farm.Check{Name: "-rf"})},
		{"no name", "name must not be", checked("", farm.Check{Name: "0"})},
		{"a priority", "priority must be a number from 1 to 9", checked("", farm.Check{Name: "a", Priority: 10})},
		{"a row", "rise must be a number from 1 to 100", checked("", farm.Check{Name: "a", Rise: 101})},
	} {
		err := validate.Config(c.cfg)
		if got := ""; c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			if err != nil {
				got = err.Error()
			}
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestATemplateIsWhatItIsHoweverOftenItAsks(t *testing.T) {
	cfg := checked("", farm.Check{Name: "check_tcp", Interval: 3}, farm.Check{Name: "alive", Command: "x"})
	got, is := check.Named(cfg, "check_tcp")
	if !is || got.Interval != 3 || !strings.HasPrefix(got.Command, "check_tcp ") {
		t.Errorf("%t %+v", is, got)
	}
	if got, is := check.Named(cfg, "check_http"); !is || got.Interval != 15 || got.EffectiveTimeout() != 15 {
		t.Errorf("as it came: %t %+v", is, got)
	}
	if _, is := check.Named(cfg, ""); is {
		t.Error("no name is a check")
	}
	all := check.All(cfg)
	for i := 1; i < len(all); i++ {
		if all[i-1].Name >= all[i].Name {
			t.Errorf("%s comes before %s", all[i-1].Name, all[i].Name)
		}
	}
	if at := farm.CheckAt(all, "check_tcp"); at < 0 || all[at].Interval != 3 || farm.CheckAt(all, "alive") < 0 {
		t.Errorf("%+v", all)
	}
}

func TestACheckWithoutACommandIsWarnedOfWhereItIsLinked(t *testing.T) {
	if w := validate.Warnings(checked("a", farm.Check{Name: "a"})); len(w) != 1 || w[0].Path != `farm "dns"` || !strings.Contains(w[0].Message, "nobody is asked") {
		t.Errorf("%+v", w)
	}
	if w := validate.Warnings(checked("a", farm.Check{Name: "a", Command: "x"}, farm.Check{Name: "b"})); len(w) != 0 {
		t.Errorf("%+v", w)
	}
}

func TestATryTakesNoLongerThanSomebodyWaits(t *testing.T) {
	for _, c := range []struct{ set, asked, want farm.Seconds }{{0, 0, 10}, {5, 0, 5}, {300, 0, 60}, {300, 7, 7}} {
		if got := check.TryTime(&farm.Check{Timeout: c.set}, check.Target{Timeout: c.asked}); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
