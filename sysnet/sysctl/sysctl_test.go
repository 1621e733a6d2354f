package sysctl_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/sysnet/sysctl"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

func journal(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "journal"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func open(t *testing.T, f *os.File) *sysctl.Values {
	t.Helper()
	k, err := sysctl.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func keep(t *testing.T, k *sysctl.Values, want ...sysctl.Setting) {
	t.Helper()
	if err := k.Keep(want); err != nil {
		t.Fatal(err)
	}
}

func set(t *testing.T, name, v string) {
	t.Helper()
	if err := os.WriteFile("/proc/sys/net/"+name, []byte(v), 0); err != nil {
		t.Fatal(err)
	}
}

// everything returns all sysctls of the namespace except counters.
func everything(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir("/proc/sys/net", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "nf_conntrack_count") {
			return nil
		}
		if b, err := os.ReadFile(path); err == nil {
			all[path] = string(b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func same(t *testing.T, before map[string]string) {
	t.Helper()
	after := everything(t)
	for name, v := range before {
		if after[name] != v {
			t.Errorf("%s was %q and is %q", name, v, after[name])
		}
	}
}

func is(t *testing.T, name, want string) {
	t.Helper()
	if b, err := os.ReadFile("/proc/sys/net/" + name); err != nil || strings.TrimSpace(string(b)) != want {
		t.Errorf("%s is %q, %v; want %s", name, b, err, want)
	}
}

// appliance sets up a namespace with values other than the kernel's defaults.
func appliance(t *testing.T) {
	t.Helper()
	sysnettest.IP(t, "link add eth0 type veth peer name eth1")
	sysnettest.IP(t, "link add eth0.5 type veth peer name eth1.5")
	set(t, "ipv4/conf/all/accept_redirects", "0")
	set(t, "ipv4/conf/eth0/forwarding", "1")
	set(t, "ipv4/conf/eth0.5/rp_filter", "1")
	set(t, "ipv4/conf/eth0/rp_filter", "0")
	set(t, "ipv6/conf/eth0/accept_ra", "1")
	set(t, "ipv6/conf/eth1/accept_ra", "0")
	set(t, "ipv6/conf/eth1/forwarding", "1")
}

func all() []sysctl.Setting {
	return append(sysctl.Forward(true, true), sysctl.Counters(), sysctl.ExplicitHelpers(), sysctl.Loose("eth0"), sysctl.Loose("eth0.5"))
}

func TestValuesAreSetAndRestored(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	appliance(t)
	before := everything(t)
	k := open(t, journal(t))
	for range 3 { // later calls change nothing
		keep(t, k, all()...)
	}
	is(t, "ipv4/ip_forward", "1")
	is(t, "ipv6/conf/all/forwarding", "1")
	is(t, "ipv6/conf/eth0/accept_ra", "2")
	is(t, "ipv6/conf/eth1/accept_ra", "0")
	is(t, "ipv4/conf/eth0.5/rp_filter", "2")
	is(t, "ipv4/conf/eth0/rp_filter", "0")
	for _, s := range k.List() {
		if s.Now != s.Set || s.Old == s.Set {
			t.Errorf("listed: %+v", s)
		}
	}
	keep(t, k, sysctl.Forward(true, false)...)
	is(t, "ipv4/ip_forward", "1")
	is(t, "ipv6/conf/all/forwarding", "0")
	keep(t, k)
	same(t, before)
	if l := k.List(); len(l) != 0 {
		t.Errorf("still listed: %+v", l)
	}
}

// setterVariable makes the test binary set values and kill itself.
const setterVariable = "SYSCTL_TEST_SETTER"

func TestMain(m *testing.M) {
	if path := os.Getenv(setterVariable); path != "" {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			panic(err)
		}
		k, err := sysctl.Open(f)
		if err != nil {
			panic(err)
		}
		if err := k.Keep(all()); err != nil {
			panic(err)
		}
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		select {}
	}
	os.Exit(m.Run())
}

func TestValuesAreRestoredAfterACrash(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	appliance(t)
	before := everything(t)
	f := journal(t)
	for range 3 { // each process wants the same values and is killed
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), setterVariable+"="+f.Name())
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("%v: %s", err, out)
		}
		is(t, "ipv4/ip_forward", "1")
	}
	keep(t, open(t, f))
	same(t, before)
}

func TestForeignChangesAreKept(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	appliance(t)
	set(t, "ipv4/ip_forward", "0")          // a new namespace inherits the value of the machine
	set(t, "ipv6/conf/all/forwarding", "1") // before our Keep
	k := open(t, journal(t))
	keep(t, k, all()...)
	set(t, "ipv4/conf/eth0.5/rp_filter", "0") // after our Keep
	keep(t, k)
	is(t, "ipv6/conf/all/forwarding", "1")
	is(t, "ipv4/conf/eth0.5/rp_filter", "0")
	is(t, "ipv4/ip_forward", "0")
}

func TestRevertedValuesAreSetAgain(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	k := open(t, journal(t))
	keep(t, k, all()...)
	set(t, "ipv4/ip_forward", "0")
	keep(t, k, all()...)
	is(t, "ipv4/ip_forward", "1")
	keep(t, k)
	is(t, "ipv4/ip_forward", "0")
}

func TestNamesBeyondTheListAreRefused(t *testing.T) {
	k := open(t, nil)
	for _, s := range []sysctl.Setting{
		{Name: "core/somaxconn", Value: "1"}, {Name: "ipv4/conf/../../../kernel/core_pattern", Value: "1"}, {Name: "ipv4/conf/../forwarding", Value: "1"},
		{Name: "ipv4/ip_forward", Value: "1\n"}, {Name: "ipv4/ip_forward", Value: ""}, {Name: "ipv4/ip_forward/", Value: "1"},
	} {
		if err := k.Keep([]sysctl.Setting{s}); err == nil {
			t.Errorf("%+v was set", s)
		}
	}
}

// A value is recorded before it is set, so that it is restored after a crash in between.
// It is restored before its record is deleted.
func TestValuesAreRecordedBeforeTheyAreSet(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	appliance(t)
	before := everything(t)
	f := journal(t)
	only, err := os.Open(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer only.Close()
	if err := open(t, only).Keep(sysctl.Forward(true, true)); err == nil || !strings.Contains(err.Error(), "is not set") {
		t.Errorf("a journal that cannot be written: %v", err)
	}
	same(t, before)
	keep(t, open(t, f), sysctl.Forward(true, false)...)
	if err := open(t, only).Keep(nil); err == nil {
		t.Error("a journal that cannot be written: no error")
	}
	same(t, before)
	if l := open(t, f).List(); len(l) == 0 {
		t.Error("an unwritten entry was forgotten")
	}
}
