package settings_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sluicelb/sluice/sysnet/settings"
)

func TestExistingSettingsAreRead(t *testing.T) {
	b := newBox(t, map[string]string{resolv: "nameserver 192.0.2.1\n#nameserver 192.0.2.2\nnameserver\nnameserver 2001:db8::1 \n", "/usr/sbin/sshd": "", "/lib/systemd/systemd-timesyncd": ""})
	if s := b.Look(); !slices.Equal(s.NameServers, []string{"192.0.2.1", "2001:db8::1"}) || s.ManagedBy != "" || s.Time != settings.Timesyncd || !s.SSH || s.SNMP {
		t.Errorf("%+v", s)
	}
	b = newBox(t, map[string]string{resolv: "-> /run/systemd/resolve/stub-resolv.conf", "/usr/sbin/snmpd": ""})
	if s := b.Look(); s.NameServers != nil || s.ManagedBy != "systemd-resolved" || s.Time != "" || s.SSH || !s.SNMP {
		t.Errorf("%+v", s)
	}
}

func TestOwnSettingsAreRecognized(t *testing.T) {
	b := newBox(t, map[string]string{resolv: "x", "/usr/sbin/chronyd": "", "/etc/chrony/sources.d/": "", "/usr/sbin/sshd": "", "/etc/ssh/sshd_config.d/": "", "/usr/sbin/snmpd": "", "/etc/snmp/snmpd.conf": ""})
	b.says["sshd -T"] = "port 22 x"
	for _, q := range []settings.Request{dns("192.0.2.53", ""), ntp("a"), ssh(22), snmp("a")} {
		if b.Holds(q.Kind) {
			t.Errorf("%s before it was set", q.Kind)
		}
		b.do(q)
		if !b.Holds(q.Kind) {
			t.Errorf("%s is not reported as set", q.Kind)
		}
		if b.do(settings.Request{Kind: q.Kind}); b.Holds(q.Kind) {
			t.Errorf("%s is reported as set after its removal", q.Kind)
		}
	}
	if b.Holds("sudo") {
		t.Error("anything is ours")
	}
}

func TestTimeServiceReportsSynchronisation(t *testing.T) {
	const call = "chronyc -n -c -h 127.0.0.1 tracking"
	b := newBox(t, map[string]string{"/usr/sbin/chronyd": "", "/etc/chrony/sources.d/": ""})
	for said, want := range map[string]settings.Synchronised{
		"C0000201,192.0.2.1,3,1700000000.1,0.000012500,0.0,0.0,-13.4,0.0,0.1,0.03,0.001,64.2,Normal\n":       {Known: true, Yes: true, Offset: -12500 * time.Nanosecond, HasOffset: true, Source: "192.0.2.1"},
		"00000000,,0,0.000000000,0.000000000,0.000000000,0.0,0.000,0.000,0.000,1.0,1.0,0.0,Not synchronised": {Known: true},
		"7F7F0101,,10,0.0,x,0.0,0.0,0.0,0.0,0.0,1.0,1.0,0.0,Normal":                                          {Known: true, Yes: true},
		"506 Cannot talk to daemon": {}, "": {},
	} {
		b.says[call] = said
		if got := b.Time(t.Context()); got != want {
			t.Errorf("%s: %+v, want %+v", said, got, want)
		}
	}
	b.fail[call] = "506 Cannot talk to daemon"
	if got := b.Time(t.Context()); got.Known {
		t.Errorf("%+v", got)
	}
	b = newBox(t, map[string]string{"/lib/systemd/systemd-timesyncd": ""})
	if got := b.Time(t.Context()); got.Known {
		t.Errorf("without a running service: %+v", got)
	}
	b.write("/run/systemd/timesync/", "")
	if got := b.Time(t.Context()); !got.Known || got.Yes {
		t.Errorf("with a running service: %+v", got)
	}
	b.write("/run/systemd/timesync/synchronized", "")
	if got := b.Time(t.Context()); !got.Yes {
		t.Errorf("synchronised: %+v", got)
	}
	if got := newBox(t, nil).Time(t.Context()); got.Known {
		t.Errorf("without a time service: %+v", got)
	}
}
