package ctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sluicelb/sluice/core/marks"
)

func TestRequestsOutsideTheContractAreRefused(t *testing.T) {
	body := json.RawMessage("{}")
	long := func(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n) + `"`) }
	ok := Request{Op: OpOpen, Key: "tcp/192.0.2.1:80", Network: "tcp", Address: "192.0.2.1:80", Count: 2}
	cases := map[string]func(*Request){
		"other network":      func(r *Request) { r.Network = "sctp" },
		"network of another": func(r *Request) { r.Network = "udp" },
		"key of another":     func(r *Request) { r.Key = "tcp/192.0.2.2:80" },
		"no count":           func(r *Request) { r.Count = 0 },
		"count too high":     func(r *Request) { r.Count = MaxCount + 1 },
		"port 0":             func(r *Request) { r.Address, r.Key = "192.0.2.1:0", "tcp/192.0.2.1:0" },
		"a name":             func(r *Request) { r.Address, r.Key = "host:80", "tcp/host:80" },
		"a zone":             func(r *Request) { r.Address, r.Key = "[fe80::1%eth0]:80", "tcp/[fe80::1%eth0]:80" },
		"mapped address":     func(r *Request) { r.Address, r.Key = "[::ffff:192.0.2.1]:80", "tcp/[::ffff:192.0.2.1]:80" },
		"multicast":          func(r *Request) { r.Address, r.Key = "224.0.0.1:80", "tcp/224.0.0.1:80" },
		"close with count":   func(r *Request) { r.Op = OpClose },
		"list of one":        func(r *Request) { r.Op = OpList },
		"start of open":      func(r *Request) { r.From = "a" },
		"list of a key":      func(r *Request) { *r = Request{Op: OpList, Key: ok.Key} },
		"list of a network":  func(r *Request) { *r = Request{Op: OpList, Network: ok.Network} },
		"list of an address": func(r *Request) { *r = Request{Op: OpList, Address: ok.Address} },
		"list of some":       func(r *Request) { *r = Request{Op: OpList, Count: 1} },
		"no operation":       func(r *Request) { r.Op = "" },
		"another operation":  func(r *Request) { r.Op = "run" },
		"a body to open":     func(r *Request) { *r = Request{Op: OpOpen, Body: body} },
		"a body to close":    func(r *Request) { *r = Request{Op: OpClose, Body: body} },
		"a body to list":     func(r *Request) { *r = Request{Op: OpList, Body: body} },
		"a body and a key":   func(r *Request) { *r = Request{Op: "part", Body: body, Key: ok.Key} },
		"and a network":      func(r *Request) { *r = Request{Op: "part", Body: body, Network: ok.Network} },
		"and an address":     func(r *Request) { *r = Request{Op: "part", Body: body, Address: ok.Address} },
		"and a count":        func(r *Request) { *r = Request{Op: "part", Body: body, Count: 1} },
		"and a start":        func(r *Request) { *r = Request{Op: "part", Body: body, From: "a"} },
		"too long":           func(r *Request) { *r = Request{Op: "part", Body: long(4 << 10)} },
	}
	parse := func(r Request) error {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = parseRequest(b)
		return err
	}
	most := ok
	most.Count = 64
	for _, good := range []Request{ok, most, {Op: OpClose, Key: ok.Key, Network: ok.Network, Address: ok.Address}, {Op: OpList}, {Op: OpList, From: "tcp/"}, {Op: "part", Body: long(4000)}} {
		if err := parse(good); err != nil {
			t.Fatalf("a good request: %v", err)
		}
	}
	for name, spoil := range cases {
		r := ok
		spoil(&r)
		if err := parse(r); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
}

func TestSocketTableLinesAreRead(t *testing.T) {
	const rest = " 00000000:00000000 00:00000000 00000000     0        0 4242 1"
	for line, want := range map[string]string{
		"   0: 0100007F:1F90 00000000:0000 0A" + rest:                                                        "127.0.0.1:8080",
		"   1: 0100007F:0035 00000000:0000 07" + rest:                                                        "127.0.0.1:53",
		"   2: B80D0120000000000000000001000000:0050 00000000000000000000000000000000:0000 0A" + rest:        "[2001:db8::1]:80",
		"   0: 0100007F:1F90 00000000:0000 01" + rest:                                                        "", // established
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode":   "",
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0":         "",
		"   0: 0100007F 00000000:0000 0A" + rest:                                                             "",
		"   0: 0100007:1F90 00000000:0000 0A" + rest:                                                         "",
		"   0: 01007F:1F90 00000000:0000 0A" + rest:                                                          "",
		"   0: 0100007F0100007F:1F90 00000000:0000 0A" + rest:                                                "",
		"   0: 0100007F:1F900 00000000:0000 0A" + rest:                                                       "",
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 inode 1": "", "": "",
	} {
		local, inode, listening := socketLine(line)
		if listening != (want != "") || listening && (local.String() != want || inode != 4242) {
			t.Errorf("%s: %s, socket %d, listening %v", line, local, inode, listening)
		}
	}
}

func TestListenersConflictOnSharedAddressAndPort(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"192.0.2.1:80", "192.0.2.1:80", true}, {"192.0.2.1:80", "192.0.2.1:81", false}, {"192.0.2.1:80", "192.0.2.2:80", false},
		{"0.0.0.0:80", "192.0.2.2:80", true}, {"0.0.0.0:80", "192.0.2.2:81", false}, {"[::]:80", "192.0.2.2:80", false},
		{"[::]:80", "[2001:db8::1]:80", true}, {"[2001:db8::2]:80", "[2001:db8::1]:80", false},
	} {
		a, b := netip.MustParseAddrPort(c.a), netip.MustParseAddrPort(c.b)
		if overlaps(a, b) != c.want || overlaps(b, a) != c.want {
			t.Errorf("%s and %s meet: %v", a, b, !c.want)
		}
	}
}

func TestListenErrorsAreExplained(t *testing.T) {
	at := netip.MustParseAddrPort("192.0.2.1:80")
	for errno, want := range map[unix.Errno]struct {
		is   error
		text string
	}{
		unix.EADDRNOTAVAIL: {ErrNotLocal, "no interface of this machine has the address 192.0.2.1"},
		unix.EADDRINUSE:    {ErrInUse, "another program uses this address and port already"},
		unix.EACCES:        {ErrNotPermitted, fmt.Sprintf("not permitted to an ordinary user, ports below %d need root or CAP_NET_BIND_SERVICE", unprivilegedFrom())},
		unix.EPERM:         {ErrNotPermitted, fmt.Sprintf("not permitted to an ordinary user, ports below %d need root or CAP_NET_BIND_SERVICE", unprivilegedFrom())},
		unix.EMFILE:        {ErrTooMany, "the limit of open files is reached"},
		unix.ENFILE:        {ErrTooMany, "the limit of open files is reached"},
		unix.EAFNOSUPPORT:  {ErrNotLocal, "this machine has no IPv6"},
		unix.ENOMEM:        {nil, "bind: cannot allocate memory"},
	} {
		err := explain(at, os.NewSyscallError("bind", errno))
		if err.Text != "cannot listen on 192.0.2.1:80: "+want.text || want.is != nil && !errors.Is(err, want.is) || want.is == nil && err.Code != CodeFailed {
			t.Errorf("%v: %s (%s)", errno, err, err.Code)
		}
		if errors.Is(err, nil) {
			t.Errorf("%v is no error", errno)
		}
	}
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_unprivileged_port_start"); err == nil && strings.TrimSpace(string(b)) != fmt.Sprint(unprivilegedFrom()) {
		t.Errorf("an ordinary user may bind ports from %s on, not %d", b, unprivilegedFrom())
	}
	for errno, want := range map[unix.Errno]marks.Code{unix.EPERM: marks.NotPermitted, unix.EACCES: marks.NotPermitted, unix.EAFNOSUPPORT: marks.NoFamily,
		unix.EMFILE: marks.TooMany, unix.ENFILE: marks.TooMany, unix.ENOMEM: marks.Failed} {
		if got := markCode(os.NewSyscallError("socket", errno)); got != want {
			t.Errorf("of a marked socket, %v: %v, want %v", errno, got, want)
		}
	}
}

func TestKeysAreListedInPartsAndBounded(t *testing.T) {
	table := newTable()
	for i := range 2500 {
		key := fmt.Sprintf("tcp/%04d", i)
		table.held[key] = &group{}
	}
	var sizes []int
	from, first := "", ""
	for more := true; more; {
		var keys []string
		keys, more = table.list(from)
		if keys[0] <= from || !slices.IsSorted(keys) {
			t.Errorf("after %q comes %q", from, keys[0])
		}
		if first == "" {
			first = keys[0]
		}
		sizes, from = append(sizes, len(keys)), keys[len(keys)-1]
	}
	if want := []int{1000, 1000, 500}; !slices.Equal(sizes, want) || first != "tcp/0000" || from != "tcp/2499" {
		t.Errorf("listed %v from %s to %s", sizes, first, from)
	}
	at := endpoint{"tcp", netip.MustParseAddrPort("127.0.0.1:0")}
	for i := 2500; i < maxKeys; i++ {
		if i == 8191 { // one place left
			if _, fresh, err := table.open(at, 1); err != nil || !fresh {
				t.Errorf("the last one: %v, %v", fresh, err)
			}
			break
		}
		table.held[fmt.Sprintf("tcp/%04d", i)] = &group{}
	}
	if _, _, err := table.open(endpoint{"udp", at.addr}, 1); !errors.Is(err, ErrTooMany) {
		t.Errorf("one too many: %v", err)
	}
	if _, fresh, err := table.open(at, 2); err != nil || fresh {
		t.Errorf("a held listener: %v, %v", fresh, err)
	}
	table.closeAll()
}

func TestLongTextsAreTruncatedBetweenLines(t *testing.T) {
	line := strings.Repeat("x", 1023) + "\n"
	for text, want := range map[string]string{
		"short": "short", strings.Repeat("x", 4096): strings.Repeat("x", 4096), strings.Repeat("x", 4097): strings.Repeat("x", 4096) + "…",
		strings.Repeat(line, 4) + "end":        strings.Repeat(line, 3) + line[:1023] + "\nand 1 more lines",
		strings.Repeat(line, 6) + "end":        strings.Repeat(line, 3) + line[:1023] + "\nand 3 more lines",
		strings.Repeat("x", 4095) + "ä" + line: strings.Repeat("x", 4095) + "…",
	} {
		if got := bounded(text); got != want {
			t.Errorf("%d bytes become %d: …%q", len(text), len(got), got[max(0, len(got)-30):])
		}
	}
}

func TestCountsAreAdded(t *testing.T) {
	one := KernelCount{Connections: 1, Established: 2, Pending: 3}
	one.CountIn(4, 5)
	one.CountOut(6, 7)
	if want := (KernelCount{1, 2, 3, 4, 5, 6, 7}); one != want {
		t.Errorf("counted %+v, want %+v", one, want)
	}
	one.CountIn(1, 10)
	one.CountOut(1, 10)
	one.Add(KernelCount{10, 20, 30, 40, 50, 60, 70})
	if want := (KernelCount{11, 22, 33, 45, 65, 67, 87}); one != want {
		t.Errorf("in all %+v, want %+v", one, want)
	}
}

func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		`{"op":"list"}`,
		`{"op":"open","key":"tcp/127.0.0.1:80","network":"tcp","address":"127.0.0.1:80","count":2}`,
		`{"op":"close","key":"tcp/[2001:db8::1]:443","network":"tcp","address":"[2001:db8::1]:443"}`,
		`{"op":"open","key":"udp/0.0.0.0:53","network":"udp","address":"0.0.0.0:53","count":1}`,
		`{"op":"open","address":"127.0.0.1:80","count":-1}`, `{}`, `[]`, `null`, "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, addr, err := parseRequest(b)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Fatalf("error without code: %v", err)
			}
			return
		}
		if len(r.Body) > 0 && r.socket() {
			t.Fatalf("accepted %+v", r)
		}
		if r.Op == OpList || len(r.Body) > 0 {
			return
		}
		ip := addr.Addr()
		if r.Key != KeyOf(r.Network, addr) || !known(r.Network) || addr.Port() == 0 || !ip.IsValid() || ip.Zone() != "" || ip.Is4In6() || r.Count < 0 || r.Count > MaxCount {
			t.Fatalf("accepted %+v as %s", r, addr)
		}
	})
}
