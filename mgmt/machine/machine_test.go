package machine_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/apply"
	"github.com/sluicelb/sluice/mgmt/machine"
	"github.com/sluicelb/sluice/mgmt/rbac/rbactest"
	"github.com/sluicelb/sluice/sysnet/settings"
)

// supervisor records requests and answers them.
type supervisor struct {
	asked  []settings.Request
	answer string
	err    error
	kept   *rbactest.Memory
}

func (s *supervisor) request(_ context.Context, kind string, request []byte) ([]byte, error) {
	var q settings.Request
	if err := json.Unmarshal(request, &q); err != nil || string(q.Kind) != kind {
		return nil, errors.New("not understood")
	}
	s.asked = append(s.asked, q)
	return []byte(s.answer), s.err
}

// asks returns the kinds of the requests, once each.
func (s *supervisor) asks() (out []settings.Kind) {
	for _, q := range s.asked {
		out = append(out, q.Kind)
	}
	s.asked = nil
	return out
}

// secrets reverses its texts.
type secrets struct{}

func (secrets) SealSecret(string, []byte) ([]byte, error) { return nil, errors.New("not asked") }
func (secrets) OpenSecret(purpose string, sealed []byte) ([]byte, error) {
	if purpose != farm.SecretCommunity || string(sealed) != "AB" {
		return nil, errors.New("sealed elsewhere")
	}
	return []byte("letmein"), nil
}

func newMachine(t *testing.T) (*machine.Machine, *supervisor, string) {
	t.Helper()
	s, root := &supervisor{answer: "{}", kept: &rbactest.Memory{}}, t.TempDir()
	return machineOf(s, root), s, root
}

// machineOf returns a machine with an existing supervisor, as after a restart.
func machineOf(s *supervisor, root string) *machine.Machine {
	addr := netip.MustParseAddrPort
	return machine.New(machine.Options{
		Request: s.request, Secrets: secrets{}, Keeper: s.kept, Log: slog.New(slog.DiscardHandler), Services: &settings.Machine{Root: root},
		Prefixes: func() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")} },
		Listeners: func() ([]apply.Listener, error) {
			return []apply.Listener{{UDP: true, Addr: addr("192.0.2.7:1161")}, {Addr: addr("192.0.2.7:1162")}, {UDP: true, Addr: addr("0.0.0.0:1163")}, {UDP: true, Addr: addr("192.0.2.8:1164")}}, nil
		},
	})
}

func TestOnlyChangedSettingsAreRequested(t *testing.T) {
	m, s, root := newMachine(t)
	settle := func(of farm.System, want ...settings.Kind) {
		t.Helper()
		if problems := m.Settle(t.Context(), &of); len(problems) != 0 {
			t.Errorf("%v", problems)
		}
		if got := s.asks(); !reflect.DeepEqual(got, want) {
			t.Errorf("requests %v, want %v", got, want)
		}
	}
	settle(farm.System{})
	ntp := farm.System{NTP: farm.NTP{Server: "a"}}
	settle(ntp, settings.NTP)
	settle(ntp)
	both := ntp
	both.DNS.Primary = netip.MustParseAddr("192.0.2.53")
	settle(both, settings.DNS)
	for _, name := range []string{"etc/chrony/sources.d/sluice.sources", "etc/ssh/sshd_config.d/sluice.conf"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	settle(farm.System{}, settings.NTP)
}

// An earlier process may have set something that is no longer set.
func TestLeftoverSettingsAreRemoved(t *testing.T) {
	m, s, root := newMachine(t)
	folder := filepath.Join(root, "etc/ssh/sshd_config.d")
	if err := errors.Join(os.MkdirAll(folder, 0o755), os.WriteFile(filepath.Join(folder, "sluice.conf"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if problems := m.Settle(t.Context(), &farm.System{}); len(problems) != 0 {
		t.Error(problems)
	}
	if got := s.asks(); !reflect.DeepEqual(got, []settings.Kind{settings.SSH}) {
		t.Errorf("requests %v", got)
	}
}

func TestFailedSettingsAreProblemsAndRetried(t *testing.T) {
	for want, set := range map[string]func(*supervisor){
		"no chrony": func(s *supervisor) { s.answer = `{"problem":"no chrony"}` },
		"not root":  func(s *supervisor) { s.err = errors.New("not root") },
		"what sets it did not say what became of it; see the log": func(s *supervisor) { s.answer = "" },
	} {
		m, s, _ := newMachine(t)
		set(s)
		of := &farm.System{NTP: farm.NTP{Server: "a"}}
		for range 2 {
			if problems := m.Settle(t.Context(), of); len(problems) != 1 || problems["ntp"] != want || len(s.asks()) != 1 {
				t.Errorf("%v, want %s", problems, want)
			}
		}
		s.answer, s.err = "{}", nil
		if problems := m.Settle(t.Context(), of); len(problems) != 0 || len(s.asks()) != 1 {
			t.Error(problems)
		}
	}
}

func TestUnnotifiedServiceIsNotifiedAgain(t *testing.T) {
	m, s, _ := newMachine(t)
	of := &farm.System{NTP: farm.NTP{Server: "a"}}
	for i, answer := range []string{`{"problem":"no systemd","untold":true}`, `{"problem":"no systemd","untold":true}`, `{"problem":"other"}`, `{}`} {
		s.answer = answer
		m.Settle(t.Context(), of)
		if again := i == 1 || i == 2; len(s.asked) != i+1 || s.asked[i].Again != again {
			t.Errorf("request %d: %+v", i, s.asked)
		}
	}
	m.Settle(t.Context(), of)
	if len(s.asked) != 4 {
		t.Errorf("a finished request was sent again: %+v", s.asked)
	}
}

func TestUnnotifiedServiceIsNotifiedAfterARestart(t *testing.T) {
	m, s, root := newMachine(t)
	of := &farm.System{NTP: farm.NTP{Server: "a"}}
	s.answer = `{"problem":"no systemd","untold":true}`
	m.Settle(t.Context(), of)
	for i, answer := range []string{s.answer, "{}", "{}"} {
		s.answer = answer
		problems := machineOf(s, root).Settle(t.Context(), of)
		if again := i < 2; len(s.asked) != i+2 || s.asked[i+1].Again != again || (problems["ntp"] == "no systemd") != (i == 0) {
			t.Errorf("life %d: %v, %+v", i, problems, s.asked)
		}
	}
}

func TestTheAgentGetsItsCommunity(t *testing.T) {
	m, s, _ := newMachine(t)
	of := &farm.System{SNMP: farm.SNMP{On: true, Community: farm.NewSealedSecret("QUI")}}
	if problems := m.Settle(t.Context(), of); len(problems) != 0 {
		t.Fatal(problems)
	}
	want := settings.SNMPAgent{On: true, IP: netip.IPv4Unspecified(), Port: 161, Community: "letmein", Scope: farm.DefaultScope}
	if len(s.asked) != 1 || s.asked[0].SNMP != want {
		t.Errorf("%+v", s.asked)
	}
	of.SNMP.Community = farm.NewSealedSecret("QUJD")
	if problems := m.Settle(t.Context(), of); !strings.Contains(problems["snmp"], "sealed elsewhere") {
		t.Error(problems)
	}
}

func TestInvalidMachineSettingsAreRefused(t *testing.T) {
	m, _, _ := newMachine(t)
	addr := netip.MustParseAddr
	ssh := func(list ...netip.Addr) farm.System { return farm.System{SSH: farm.SSH{Listen: list}} }
	snmp := func(ip string, port uint16) farm.System {
		return farm.System{SNMP: farm.SNMP{On: true, IP: addr(ip), Port: port}}
	}
	for _, c := range []struct {
		old, new farm.System
		want     string
	}{
		{farm.System{}, ssh(addr("192.0.2.7"), addr("127.0.0.1")), ""},
		{farm.System{}, ssh(netip.IPv6Unspecified()), ""},
		{farm.System{}, ssh(addr("192.0.2.7"), addr("192.0.2.9")), "system ssh: listen must hold addresses of this machine, or nobody could log in any more, got 192.0.2.9"},
		{ssh(addr("192.0.2.9")), ssh(addr("192.0.2.9")), ""},
		{farm.System{}, snmp("192.0.2.7", 161), ""},
		{farm.System{}, snmp("192.0.2.9", 161), "system snmp: ip must be an address of this machine or *, got 192.0.2.9"},
		{farm.System{}, snmp("192.0.2.7", 1161), "system snmp: port must be free, got 1161: another program listens on udp 192.0.2.7:1161"},
		{farm.System{}, snmp("0.0.0.0", 1161), "system snmp: port must be free"},
		{farm.System{}, snmp("192.0.2.7", 1163), "system snmp: port must be free"},
		{farm.System{}, snmp("192.0.2.7", 1162), ""}, {farm.System{}, snmp("192.0.2.7", 1164), ""},
		{snmp("127.0.0.1", 1161), snmp("192.0.2.7", 1161), ""},
		{farm.System{}, farm.System{SNMP: farm.SNMP{IP: addr("192.0.2.9"), Port: 1161}}, ""},
	} {
		err := m.Check(t.Context(), &c.old, &c.new)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %s", c.new, err, c.want)
		}
	}
}
