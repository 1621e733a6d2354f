package sysctl_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/sluicelb/sluice/sysnet/sysctl"
	"github.com/sluicelb/sluice/sysnet/sysnettest"
)

// over bind-mounts a file over a sysctl; if it is the same file, read-only. The namespace
// and its mounts belong to the test.
func over(t *testing.T, name, file string) (undo func()) {
	t.Helper()
	path := "/proc/sys/net/" + name
	if err := syscall.Mount(file, path, "", syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	if file == path {
		if err := syscall.Mount("", path, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		t.Helper()
		if err := syscall.Unmount(path, 0); err != nil {
			t.Fatal(err)
		}
	}
}

func old(t *testing.T, k *sysctl.Values, want ...string) {
	t.Helper()
	var got []string
	for _, s := range k.List() {
		got = append(got, fmt.Sprintf("%s %s>%s %s", s.Name, s.Old, s.Set, s.Now))
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("listed %q, want %q", got, want)
	}
}

func setting(name, value string) sysctl.Setting { return sysctl.Setting{Name: name, Value: value} }

// A failed setting is reported and retried by the next Keep. All others are set at once.
func TestFailingSysctlStopsNoOther(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	appliance(t)
	set(t, "ipv4/ip_forward", "0")
	before := everything(t)
	const loose, redirects = "ipv4/conf/eth0.5/rp_filter", "ipv4/conf/all/accept_redirects"
	want := []sysctl.Setting{setting("ipv4/ip_forward", "1"), setting(loose, "2")}
	k := open(t, journal(t))
	fails := func(want []sysctl.Setting, is error, text string) {
		t.Helper()
		if err := k.Keep(want); !errors.Is(err, is) || !strings.HasPrefix(err.Error(), text) {
			t.Errorf("%v, want %v with %q", err, is, text)
		}
	}
	writable := over(t, "ipv4/ip_forward", "/proc/sys/net/ipv4/ip_forward")
	fails(want, syscall.EROFS, "sysctl net/ipv4/ip_forward: open ")
	is(t, loose, "2")
	writable()
	readable := over(t, "ipv4/ip_forward", "/proc/self/mem")
	fails(want, syscall.EIO, "sysctl net/ipv4/ip_forward: read ")
	readable()
	keep(t, k, want...)
	is(t, "ipv4/ip_forward", "1")
	both := []string{"net/" + loose + " 1>2 2", "net/ipv4/ip_forward 0>1 1"}
	old(t, k, both...)

	readable = over(t, loose, "/proc/self/mem")
	fails(want[:1], syscall.EIO, "sysctl net/"+loose+": read ")
	readable()
	old(t, k, both...)
	writable = over(t, "ipv4/ip_forward", "/proc/sys/net/ipv4/ip_forward")
	fails(nil, syscall.EROFS, "sysctl net/ipv4/ip_forward keeps the value 1: ")
	is(t, loose, "1")
	writable()
	old(t, k, both[1])
	writable = over(t, redirects, "/proc/sys/net/"+redirects)
	fails(nil, syscall.EROFS, "sysctl net/"+redirects+" keeps the value 1: ") // the kernel changed it as a side effect
	writable()
	set(t, "ipv4/ip_forward", "1")
	keep(t, k)
	same(t, before)
	old(t, k)
}

func TestFirstOldValueIsRestored(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	appliance(t)
	before := everything(t)
	for _, f := range []*os.File{nil, journal(t)} { // without and with a journal
		k := open(t, f)
		const name = "ipv4/conf/eth0.5/rp_filter"
		for _, v := range []string{"2", "0", "2"} {
			keep(t, k, setting(name, v), setting(name, "1")) // the first of equal names wins
			is(t, name, v)
			old(t, k, "net/"+name+" 1>"+v+" "+v)
		}
		keep(t, k, setting(name, "2"), setting("ipv4/conf/eth1.5/rp_filter", "2"))
		sysnettest.IP(t, "link del eth0.5") // deletes eth1.5 too
		keep(t, k)
		old(t, k)
		sysnettest.IP(t, "link add eth0.5 type veth peer name eth1.5")
		set(t, name, "1")
	}
	same(t, before)
}

func TestOnlyOptionalSysctlsMayBeMissing(t *testing.T) {
	if !sysnettest.Inside(t) {
		return
	}
	k := open(t, journal(t))
	const name = "ipv4/conf/nowhere/rp_filter"
	keep(t, k, sysctl.Setting{Name: name, Value: "2", Optional: true})
	if err := k.Keep([]sysctl.Setting{setting(name, "2")}); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "sysctl net/"+name+": ") {
		t.Errorf("a required sysctl: %v", err)
	}
	old(t, k)
}

func TestSettingsMatchTheNeedsOfFarms(t *testing.T) {
	for _, c := range []struct{ own, all, want string }{
		{"0", "0", "no"}, {"0", "1", "yes"}, {"1", "0", "yes"}, {"1", "1", "yes"}, {"1", "2", "no"}, {"2", "1", "no"}, {"", "1", "yes"}, {"", "", "no"},
	} {
		s := sysctl.Loose("eth0.5")
		was := map[string]string{"ipv4/conf/eth0.5/rp_filter": c.own, "ipv4/conf/all/rp_filter": c.all}
		if got := s.When(func(name string) string { return was[name] }); got != (c.want == "yes") || s.Name != "ipv4/conf/eth0.5/rp_filter" || s.Value != "2" || !s.Optional {
			t.Errorf("own %q, all %q: %v of %+v", c.own, c.all, got, s)
		}
	}
	for _, c := range []struct {
		s    sysctl.Setting
		want string
	}{{sysctl.Counters(), "netfilter/nf_conntrack_acct=1 true"}, {sysctl.ExplicitHelpers(), "netfilter/nf_conntrack_helper=0 true"}, {sysctl.Forward(true, false)[0], "ipv4/ip_forward=1 false"}} {
		if got := fmt.Sprintf("%s=%s %t", c.s.Name, c.s.Value, c.s.Optional); got != c.want || c.s.When != nil {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	if all := sysctl.Forward(false, false); len(all) != 0 {
		t.Errorf("Forward(false, false) needs %+v", all)
	}
	all := sysctl.Forward(true, true)
	for i, s := range all {
		last := i == len(all)-1
		advertised := strings.HasPrefix(s.Name, "ipv6/conf/") && strings.HasSuffix(s.Name, "/accept_ra") && s.Value == "2" && s.Optional && s.When != nil &&
			s.Name != "ipv6/conf/all/accept_ra" && s.Name != "ipv6/conf/default/accept_ra"
		if i > 0 && !last && !advertised || last && (s.Name != "ipv6/conf/all/forwarding" || s.Value != "1" || !s.Optional) {
			t.Errorf("%d: %+v", i, s)
		}
	}
}
