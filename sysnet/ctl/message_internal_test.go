package ctl

import (
	"encoding/json"
	"errors"
	"net/netip"
	"testing"
)

func TestRequestsOutsideTheContractAreRefused(t *testing.T) {
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
	}
	parse := func(r Request) error {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = parseRequest(b)
		return err
	}
	if err := parse(ok); err != nil {
		t.Fatalf("a good request: %v", err)
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
	local, inode, listening := socketLine("   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4242 1")
	if want := netip.MustParseAddrPort("127.0.0.1:8080"); local != want || inode != 4242 || !listening {
		t.Errorf("got %s %d %v", local, inode, listening)
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
