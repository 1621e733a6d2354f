package acme

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/mgmt/apply"
)

func TestSettingsHaveBounds(t *testing.T) {
	label := strings.Repeat("x", 61) + "."
	long := strings.Repeat(label, 4) + "est." // 252 bytes
	names := func(n int) (out []string) {
		for range n {
			out = append(out, "a.test")
		}
		return out
	}
	one := func(_ []string, err error) error { return err }
	for what, c := range map[string]struct {
		err error
		ok  bool
	}{
		"a name of 253":         {one(checkDomains([]string{long + "x"}, HTTP01)), true},
		"a name of 254":         {one(checkDomains([]string{long + "xx"}, HTTP01)), false},
		"100 names":             {one(checkDomains(names(100), HTTP01)), true},
		"101 names":             {one(checkDomains(names(101), HTTP01)), false},
		"a mail address of 254": {checkEmail("a@" + long[:250] + "aa"), true},
		"one of 255":            {checkEmail("a@" + long[:250] + "aaa"), false},
		"no mail address":       {checkEmail("a.@test.test"), false},
		"a directory of 1024":   {checkDirectory("directory", "https://a/"+strings.Repeat("x", 1014)), true},
		"one of 1025":           {checkDirectory("directory", "https://a/"+strings.Repeat("x", 1015)), false},
		"one without a host":    {checkDirectory("directory", "https:///x"), false},
		"one with a fragment":   {checkDirectory("directory", "https://a/#x"), false},
		"one that is no URL":    {checkDirectory("directory", "https://a/\x7f"), false},
		"eight servers":         {checkServers(slices.Repeat([]string{"192.0.2.1:53"}, 8)), true},
		"a server on port 0":    {checkServers([]string{"192.0.2.1:0"}), false},
	} {
		if (c.err == nil) != c.ok {
			t.Errorf("%s: %v", what, c.err)
		}
	}
	if got, err := checkDomains([]string{" A.test", "b.test", "a.TEST "}, HTTP01); err != nil || !slices.Equal(got, []string{"a.test", "b.test"}) {
		t.Errorf("%v, %v", got, err)
	}
	m, f := newFakes(nil)
	settings := Settings{Email: "a@b.test", DNSWait: MaxDNSWait, Directory: "https://a.test/", Staging: "https://b.test/"}
	if err := m.SetSettings(apply.Author{}, settings); err != nil {
		t.Error(err)
	}
	if got := m.Settings(); !reflect.DeepEqual(got, settings) {
		t.Errorf("kept are %+v, want %+v", got, settings)
	}
	if at := [2]string{settings.directory(false), settings.directory(true)}; at != [2]string{"https://a.test/", "https://b.test/"} {
		t.Errorf("directories %v", at)
	}
	settings.DNSWait = -1
	wants(t, m.SetSettings(apply.Author{}, settings), Invalid, "from 1 to 900 is allowed, got -1")
	f.full = errors.New("the disk is full")
	if err := m.SetSettings(apply.Author{}, Settings{Email: "a@b.test"}); !errors.Is(err, f.full) {
		t.Errorf("no room: %v", err)
	}
	f.settings[settingsName] = "{"
	if s := m.Settings(); s.Email != "" || s.Directory != LetsEncrypt || s.DNSWait != 120 || !strings.Contains(f.log.String(), "set them again") {
		t.Errorf("damaged: %+v\n%s", s, &f.log)
	}
}

func TestAnOrderHasTwoMinutesAndTheWaitForRecords(t *testing.T) {
	m, _ := newFakes(nil)
	if got := m.Patience(); got != 4*time.Minute {
		t.Errorf("%s", got)
	}
	if got := m.timeout(HTTP01, Settings{DNSWait: 900}); got != 2*time.Minute {
		t.Errorf("http-01: %s", got)
	}
	if got := m.timeout(DNS01, Settings{DNSWait: 7}); got != 127*time.Second {
		t.Errorf("dns-01: %s", got)
	}
	if m.options.Port != 80 || m.options.Hooks != "hooks" {
		t.Errorf("%+v", m.options)
	}
	if now := New(Options{Store: &fakes{}}).options.Now(); time.Since(now) > time.Hour {
		t.Errorf("the clock says %s", now)
	}
}
