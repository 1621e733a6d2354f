package acme_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/core/porttest"
	"github.com/sluicelb/sluice/mgmt/acme"
	"github.com/sluicelb/sluice/mgmt/hook"
)

// withHook gives the house a hook that stores records as files for the authority's name
// server. calls is its log of calls.
func (h *house) withHook(body string) (records, calls string) {
	h.t.Helper()
	records, calls = filepath.Join(h.dir, "records"), filepath.Join(h.dir, "calls")
	h.must(os.MkdirAll(records, 0o700))
	h.must(os.MkdirAll(filepath.Join(h.dir, hook.Folder), 0o700))
	script := fmt.Sprintf("#!/bin/sh\nset -e\nrecords=%s\necho \"$*|$SLUICE_ACTION $SLUICE_DOMAIN $SLUICE_RECORD $SLUICE_VALUE|$(readlink /proc/$$/fd/* | tr '\n' ' ')\" >> %s\n%s", records, calls, body)
	h.must(os.WriteFile(filepath.Join(h.dir, hook.Folder, "dns.sh"), []byte(script), 0o700))
	h.ca.Names().Records(records)
	s := h.Settings()
	s.Hook, s.DNSWait, s.DNSServers = "dns.sh", 5, []string{h.ca.Names().Addr()}
	h.must(h.SetSettings(by, s))
	return records, calls
}

const asFiles = `case $1 in
present) : > "$records/$3=$4" ;;
cleanup) rm -f "$records/$3=$4" ;;
esac
`

func lines(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

func (h *house) left(records string) []os.DirEntry {
	h.t.Helper()
	left, err := os.ReadDir(records)
	h.must(err)
	return left
}

var wildcard = acme.Request{Domains: []string{"*.sluice.test", "sluice.test"}, Challenge: acme.DNS01}

func TestAWildcardIsOrderedThroughTheHookAndRenewed(t *testing.T) {
	h := newHouse(t, "0")
	records, calls := h.withHook(asFiles)
	v, err := h.Order(t.Context(), by, wildcard)
	h.must(err)
	if v.Name != "*.sluice.test.pem" || v.Challenge != acme.DNS01 || !v.Renewal.Auto {
		t.Errorf("got %+v", v)
	}
	if left := h.left(records); len(left) != 0 {
		t.Errorf("the hook was not told to remove %v", left)
	}
	// Two simultaneous values of one record, in arguments and environment. No descriptor is
	// inherited.
	got := lines(t, calls)
	if len(got) != 4 {
		t.Fatalf("calls:\n%s", strings.Join(got, "\n"))
	}
	values := map[string]bool{}
	for i, line := range got {
		part := strings.Split(line, "|")
		words := strings.Fields(part[0])
		if part[0] != part[1] || len(words) != 4 || words[0] != []string{"present", "present", "cleanup", "cleanup"}[i] || words[1] != "sluice.test" || words[2] != "_acme-challenge.sluice.test" {
			t.Errorf("call %q", line)
		}
		values[words[3]] = true
		for open := range strings.FieldsSeq(part[2]) {
			if strings.HasPrefix(open, h.dir) && open != calls && !strings.HasSuffix(open, "/dns.sh") {
				t.Errorf("the hook has %s", open)
			}
		}
	}
	if len(values) != 2 {
		t.Errorf("values %v", values)
	}
	port := porttest.TCP(t).Port()
	h.farm("secure", port, func(f *farm.Farm) {
		f.HTTP.TLS = farm.DefaultTLS()
		f.HTTP.TLS.Certificates = []string{v.Name}
	})
	first := h.served(port, "shop.sluice.test")
	h.pass(61 * day)
	h.open()
	h.Look(t.Context())
	if h.served(port, "any.sluice.test") == first {
		t.Fatalf("it was not renewed\n%s", h.log)
	}
	if n := len(lines(t, calls)); n != 8 {
		t.Errorf("%d calls", n)
	}
	h.restored()
}

// A failed renewal keeps the certificate and reports the output of the hook.
func TestFailedHookIsReportedAndCleansUp(t *testing.T) {
	h := newHouse(t, "0")
	records, calls := h.withHook(`[ $1 = cleanup ] || { echo "quota of the zone is used up"; head -c 300000 /dev/zero | tr '\0' x; exit 3; }`)
	_, err := h.Order(t.Context(), by, wildcard)
	h.wants(err, acme.Invalid, "quota of the zone is used up")
	if !strings.Contains(err.Error(), "exit status 3") || len(err.Error()) > 1000 {
		t.Errorf("%d bytes: %.300s", len(err.Error()), err)
	}
	if got := lines(t, calls); len(got) != 2 || !strings.HasPrefix(got[1], "cleanup") {
		t.Errorf("calls %v", got)
	}
	_ = records
	h.restored()
}

func TestInvisibleRecordsEndTheOrder(t *testing.T) {
	h := newHouse(t, "0")
	_, calls := h.withHook("")
	s := h.Settings()
	s.DNSWait = 1
	h.must(h.SetSettings(by, s))
	_, err := h.Order(t.Context(), by, wildcard)
	h.wants(err, acme.Unreachable, "_acme-challenge.sluice.test cannot be seen everywhere after 1s")
	if h.ca.Asked("chalZ") != 0 {
		t.Error("the authority was asked to validate")
	}
	if got := lines(t, calls); len(got) != 4 {
		t.Errorf("calls %v", got)
	}
}

// The record may be in another zone.
func TestAnAliasOfTheRecordIsFollowed(t *testing.T) {
	h := newHouse(t, "0")
	h.withHook(strings.ReplaceAll(asFiles, "$3=", "challenges.elsewhere.test="))
	h.ca.Names().Alias("_acme-challenge.sluice.test", "challenges.elsewhere.test")
	_, err := h.Order(t.Context(), by, wildcard)
	h.must(err)
}

// A hanging hook is killed, and so are its children.
func TestAHookThatHangsIsEndedWithItsChildren(t *testing.T) {
	h := newHouse(t, "0")
	h.limit = time.Second
	h.open()
	pids := filepath.Join(h.dir, "pids")
	h.withHook(fmt.Sprintf("[ $1 = cleanup ] && exit 0\nsleep 300 &\necho $! $$ > %s\nwait\n", pids))
	s := h.Settings()
	s.DNSWait = 1
	h.must(h.SetSettings(by, s))
	_, err := h.Order(t.Context(), by, wildcard)
	h.wants(err, acme.Invalid, "not done")
	for _, pid := range strings.Fields(lines(t, pids)[0]) {
		for i := 0; ; i++ {
			state, err := os.ReadFile("/proc/" + pid + "/stat")
			if err != nil || strings.Contains(string(state), ") Z ") {
				break
			}
			if i > 100 {
				t.Fatalf("process %s lives: %s", pid, state)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

func TestOnlyTheOperatorsOwnProgramsAreHooks(t *testing.T) {
	h := newHouse(t, "0")
	set := func(name string) error {
		s := h.Settings()
		s.Hook = name
		return h.SetSettings(by, s)
	}
	folder := filepath.Join(h.dir, hook.Folder)
	h.wants(set("dns.sh"), acme.Invalid, "does not exist")
	h.withHook(asFiles)
	for _, name := range []string{"../calls", "/bin/sh", "a b", "-rf", ".hidden", "dns.sh/", strings.Repeat("x", 65), "$(id)", "a\nb"} {
		h.wants(set(name), acme.Invalid, "no name of a program")
	}
	path := filepath.Join(folder, "other")
	h.must(os.WriteFile(path, []byte("#!/bin/sh\n"), 0o600))
	h.wants(set("other"), acme.Invalid, "not executable")
	for _, mode := range []os.FileMode{0o720, 0o702} { // group, everybody
		h.must(os.Chmod(path, mode))
		h.wants(set("other"), acme.Invalid, "others may write it")
	}
	h.must(os.Chmod(path, 0o700))
	h.must(set("other"))
	h.must(os.Symlink("/bin/sh", filepath.Join(folder, "link")))
	h.wants(set("link"), acme.Invalid, "no regular file")
	h.must(os.Chmod(folder, 0o777))
	h.wants(set("other"), acme.Invalid, "the folder hooks of the data directory cannot be used: others may write it")
	if _, err := h.Order(t.Context(), by, wildcard); err == nil || !strings.Contains(err.Error(), "others may write it") {
		t.Errorf("ordered all the same: %v", err)
	}
	if os.Geteuid() == 0 {
		h.must(os.Chmod(folder, 0o700))
		h.must(os.Chown(path, 65534, 65534))
		h.wants(set("other"), acme.Invalid, "belongs to user 65534")
	}
	h.must(set(""))
}

func TestWildcardsNeedTheDNSChallenge(t *testing.T) {
	h := newHouse(t, "0")
	h.farm("web", h.port, nil)
	for _, c := range []struct {
		q    acme.Request
		part string
	}{
		{acme.Request{Domains: []string{"*.sluice.test"}, Target: acme.Target{Farm: "web"}}, "order it with that"},
		{acme.Request{Domains: []string{"*.sluice.test"}, Challenge: acme.DNS01}, "no hook is set"},
		{acme.Request{Domains: []string{"*.sluice.test"}, Challenge: acme.DNS01, Target: acme.Target{Farm: "web"}}, "vip and farmname are for the challenge http-01"},
		{acme.Request{Domains: []string{"*.*.sluice.test"}, Challenge: acme.DNS01}, "no host name"},
		{acme.Request{Domains: []string{"a.*.sluice.test"}, Challenge: acme.DNS01}, "no host name"},
		{acme.Request{Domains: []string{"*"}, Challenge: acme.DNS01}, "no host name"},
		{acme.Request{Domains: []string{"a.sluice.test"}, Challenge: "tls-alpn-01"}, "allowed are http-01 and dns-01"},
	} {
		_, err := h.Order(t.Context(), by, c.q)
		h.wants(err, acme.Invalid, c.part)
	}
	for part, bad := range map[string]acme.Settings{
		"dns_wait":      {Email: "a@b.test", DNSWait: 901},
		"dns_servers":   {Email: "a@b.test", DNSServers: []string{"ns.test"}},
		"at most 8 are": {Email: "a@b.test", DNSServers: slices.Repeat([]string{"192.0.2.1:53"}, 9)},
	} {
		h.wants(h.SetSettings(by, bad), acme.Invalid, part)
	}
	if n := h.ca.Asked("dir"); n != 0 {
		t.Errorf("%d requests to the authority", n)
	}
}

// The records of a cancelled order are removed.
func TestCancelledOrderCleansUp(t *testing.T) {
	h := newHouse(t, "0")
	records, calls := h.withHook(asFiles)
	s := h.Settings()
	s.DNSServers = []string{"127.0.0.1:1"} // unreachable: the records never become visible
	s.DNSWait = 60
	h.must(h.SetSettings(by, s))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { _, err := h.Order(ctx, by, wildcard); ended <- err }()
	for i := 0; ; i++ {
		if left, err := os.ReadDir(records); err == nil && len(left) == 2 {
			break
		}
		if i > 1000 {
			t.Fatal("the records are not made")
		}
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("ordered all the same")
	}
	if left := h.left(records); len(left) != 0 || len(lines(t, calls)) != 4 {
		t.Errorf("left: %v", left)
	}
}
