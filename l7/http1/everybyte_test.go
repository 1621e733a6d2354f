package http1_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

const (
	digits  = "0123456789"
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	token   = "!#$%&'*+-.^_`|~" + digits + letters
)

func has(set string, c int) bool { return strings.IndexByte(set, byte(c)) >= 0 }

func TestEveryByteOfHosts(t *testing.T) {
	for c := range 256 {
		b := string([]byte{byte(c)})
		for host, want := range map[string]bool{
			"a" + b + "b":    has("-_.:"[:3]+digits+letters, c),
			"a:1" + b:        has(digits, c),
			"[::1" + b + "]": has(digits+"abcdefABCDEF:"[:12], c),
			"a" + b:          has("-_.:"+digits+letters, c),
		} {
			if got := http1.ValidHost([]byte(host)); got != want {
				t.Errorf("%q: got %v, want %v", host, got, want)
			}
		}
	}
}

// TestHostAddressesAgreeWithNetip compares valid, almost valid and invalid
// addresses with netip.
func TestHostAddressesAgreeWithNetip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	one := func(of ...string) string { return of[rnd.IntN(len(of))] }
	right := 0
	for range 20_000 {
		var parts []string
		for range one("7", "8", "6", "12345")[0] - '0' + byte(rnd.IntN(2)) {
			parts = append(parts, one("0", "1", "ffff", "FFFF", "aB0", "09f"))
		}
		if rnd.IntN(2) == 0 {
			parts = append(parts, one("1.2.3.4", "255.255.255.255", "0.0.0.0", "10.99.100.249", "1.2.3.256", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.03.4", "1000.2.3.4"))
		}
		if rnd.IntN(2) == 0 {
			i := rnd.IntN(len(parts))
			parts = append(parts[:i:i], parts[min(i+rnd.IntN(4), len(parts)):]...)
			parts = append(parts[:i:i], append([]string{""}, parts[i:]...)...)
		}
		a := strings.Join(parts, ":")
		if strings.HasPrefix(a, ":") || strings.HasSuffix(a, ":") {
			a = strings.ReplaceAll(":"+a+":", ":::", "::")
		}
		if i := rnd.IntN(len(a) + 1); rnd.IntN(4) == 0 {
			a = a[:i] + one("", "0", "f", "A", ":", ".", "g", "%", "::") + a[min(len(a), i+rnd.IntN(2)):]
		}
		want, err := netip.ParseAddr(a)
		ok := err == nil && want.Is6() && want.Zone() == ""
		if ok {
			right++
		}
		if got := http1.ValidHost([]byte("[" + a + "]:80")); got != ok {
			t.Fatalf("%s: %v, want %v", a, got, ok)
		}
	}
	if right < 2000 {
		t.Errorf("only %d right ones were tried", right)
	}
	longest := "[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]"
	if !http1.ValidHost([]byte(longest)) || http1.ValidHost([]byte(strings.Replace(longest, "]", "0]", 1))) {
		t.Error("the longest address is refused, or a longer one is not")
	}
}

func TestTokensAreTokens(t *testing.T) {
	for c := range 256 {
		if got := http1.Token([]byte{'a', byte(c)}); got != has(token, c) {
			t.Errorf("byte %#x: %v", c, got)
		}
	}
	if http1.Token(nil) {
		t.Error("the empty string is a token")
	}
}

// TestEveryByteOfPaths tries each byte raw and escaped.
func TestEveryByteOfPaths(t *testing.T) {
	r := new(http1.Request)
	for c := range 256 {
		escaped := fmt.Sprintf("%%%02X", c)
		want := "/a" + escaped + "b"
		switch {
		case has("-._~"+digits+letters, c):
			want = "/a" + string(rune(c)) + "b"
		case c == 0 || c == '\r' || c == '\n':
			want = http1.ErrTargetControl.Error()
		}
		for _, target := range []string{"/a" + escaped + "b", "/a" + strings.ToLower(escaped) + "b"} {
			if got := canonical(r, target); got != want {
				t.Errorf("%s is read as %s, want %s", target, got, want)
			}
		}
		if has(" ?%/", c) {
			continue // special meaning
		}
		want = "/a" + string(rune(c)) + "b"
		switch {
		case c <= ' ' || c == 0x7f || c == '#':
			want = http1.ErrTargetByte.Error()
		case c >= 0x80 || c == '\\':
			want = "/a" + escaped + "b"
		}
		if got := canonical(r, "/a"+string([]byte{byte(c)})+"b"); got != want {
			t.Errorf("byte %#x is read as %s, want %s", c, got, want)
		}
	}
}

// TestEscapedOverlongSequencesAreRefused tries every pair of bytes. A sequence is overlong if
// its highest code point fits a shorter one.
func TestEscapedOverlongSequencesAreRefused(t *testing.T) {
	r := new(http1.Request)
	for lead := 0x80; lead < 0x100; lead++ {
		for next := range 0x100 {
			if has("-._~\r\n\x00"+digits+letters, next) {
				continue // has another spelling, or is always refused
			}
			target := fmt.Sprintf("/%%%02X%%%02X", lead, next)
			want := target
			if second := next & 0x3f; next&0xc0 == 0x80 {
				switch {
				case lead >= 0xf8,
					lead >= 0xf0 && lead&0x07<<18|second<<12|0xfff < 0x10000,
					lead >= 0xe0 && lead < 0xf0 && lead&0x0f<<12|second<<6|0x3f < 0x800,
					lead >= 0xc0 && lead < 0xe0 && lead&0x1f<<6|second < 0x80:
					want = http1.ErrTargetUTF8.Error()
				}
			}
			if got := canonical(r, target); got != want {
				t.Fatalf("%s is read as %s, want %s", target, got, want)
			}
		}
	}
}

// canonical returns the canonical path of a target, or the error that refuses it.
func canonical(r *http1.Request, target string) string {
	if _, err := r.Parse([]byte("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n")); err != nil {
		return err.Error()
	}
	return string(r.Path)
}

func TestEveryByteOfChunkedBodies(t *testing.T) {
	text := func(c int) bool { return c >= ' ' && c != 0x7f || c == '\t' }
	for c := range 256 {
		b := string([]byte{byte(c)})
		for body, want := range map[string]bool{
			b + "\r\n":                 has(digits+"abcdefABCDEF", c),
			"0" + b + "\r\n":           has(digits+"abcdefABCDEF;", c),
			"0 " + b + ";\r\n":         has(" \t;", c),
			"0;a" + b + "\r\n":         text(c),
			"0;a\r" + b:                c == '\n',
			"0\r\nA" + b + ": c\r\n":   has(token+":", c),
			"0\r\nA:" + b + "\r\n\r\n": text(c),
			"0\r\nA:\r" + b:            c == '\n',
			"1\r\nx" + b:               c == '\r',
			"1\r\nx\r" + b:             c == '\n',
		} {
			var d http1.Chunked
			if _, _, err := d.Scan([]byte(body)); (err == nil) != want {
				t.Errorf("%q: %v", body, err)
			}
		}
	}
}

// A malformed version is refused at its first wrong byte.
func TestEveryByteOfTheVersionOfAnAnswer(t *testing.T) {
	const form = "HTTP/1.1 "
	for i := range len(form) - 1 {
		for c := range 256 {
			var want error
			if byte(c) != form[i] && (form[i] != '1' || !has(digits, c)) {
				want = http1.ErrStatusLine
			}
			head := form[:i] + string([]byte{byte(c)})
			if n, err := new(http1.Response).Parse([]byte(head)); n != 0 || err != want {
				t.Errorf("%q: %d, %v, want %v", head, n, err, want)
			}
		}
	}
}

func TestEveryByteOfAStatus(t *testing.T) {
	for i := range 4 {
		for c := range 256 {
			status := []byte(" 599")
			status[i] = byte(c)
			right, want := has([]string{" ", "12345", digits, digits}[i], c), http1.ErrStatusLine
			switch {
			case i == 0 && c == '\t':
				want = http1.ErrStatusForm
			case i == 1 && has("6789", c):
				want = http1.ErrStatusRange
			}
			r := new(http1.Response)
			n, err := r.Parse([]byte("HTTP/1.1" + string(status) + " \r\n\r\n"))
			if right && (n == 0 || err != nil || fmt.Sprint(" ", r.Status) != string(status)) || !right && err != error(want) {
				t.Errorf("%q: status %d, %v", status, r.Status, err)
			}
		}
	}
}
