package http1_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

const editable = "GET /a HTTP/1.1\nHost: h\nA: 1\nCookie: one\nX-Forwarded-For: evil\nB:\t2 \nCookie: two\nContent-Length: 3\nC: 3\n\n"

// indexOf returns the position of the n-th field with that name.
func indexOf(t *testing.T, h *http1.Head, name string, n int) int {
	t.Helper()
	for i := range h.NumFields {
		if string(h.Name(i)) == name {
			if n--; n == 0 {
				return i
			}
		}
	}
	t.Fatalf("no %s", name)
	return -1
}

func TestRemovedFieldsAreNeitherFoundNorSent(t *testing.T) {
	r := mustParse(t, lf(editable))
	r.Remove(indexOf(t, &r.Head, "Cookie", 1))
	if i := r.Find(http1.KnownCookie); i < 0 || string(r.Value(i)) != "two" {
		t.Errorf("the second cookie is found at %d", i)
	}
	r.Remove(indexOf(t, &r.Head, "Cookie", 2))
	r.Remove(indexOf(t, &r.Head, "A", 1))
	if r.Find(http1.KnownCookie) >= 0 || r.Lookup("a") >= 0 {
		t.Error("a removed field is found")
	}
	want := lf("GET /a HTTP/1.1\nHost: h\nB:\t2 \nC: 3\nX-Forwarded-Proto: http\nX-Forwarded-Host: h\nForwarded: for=unknown;host=\"h\";proto=http\nContent-Length: 3\n\n")
	f := &http1.Forward{Proto: []byte("http")}
	if got := string(http1.AppendRequest(nil, r, f)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFieldsAreRemovedWithTheirTwins(t *testing.T) {
	r := mustParse(t, lf("GET / HTTP/1.1\nHost: h\nX-Internal: 1\nx_internal: 2\nX.INTERNAL: 3\nX-Internals: 4\nX0Internal: 5\nX-Interna1: 6\n\n"))
	r.RemoveNamed([]byte("X-Internal"))
	got := string(http1.AppendRequest(nil, r, &http1.Forward{Proto: []byte("http")}))
	if want := lf("Host: h\nX-Internals: 4\nX0Internal: 5\nX-Interna1: 6\nX-Forwarded-Proto"); !strings.Contains(got, want) {
		t.Errorf("got\n%s", got)
	}
	for _, pair := range [][2]string{{"a-b", "a_b"}, {"A_b", "a.B"}, {"a", "A"}} {
		if !http1.SameName([]byte(pair[0]), []byte(pair[1])) {
			t.Errorf("%v differ", pair)
		}
	}
	for _, pair := range [][2]string{{"a-b", "ab"}, {"a-b", "a0b"}, {"a~", "aN"}, {"a-", "aM"}, {"a", "b"}, {"", "a"}} {
		if http1.SameName([]byte(pair[0]), []byte(pair[1])) {
			t.Errorf("%v are one", pair)
		}
	}
}

// Fields of one kind can be removed in any order, including neighbours. Leftovers of an
// earlier head are not found.
func TestTheFirstFieldThatIsLeftIsFound(t *testing.T) {
	r := mustParse(t, lf("GET / HTTP/1.1\nHost: h\nCookie: 1\nCookie: 2\nCookie: 3\nCookie: 4\n\n"))
	if n, err := r.Parse([]byte(lf("GET / HTTP/1.1\nHost: h\nCookie: one\nCookie: two\nCookie: three\n\n"))); n == 0 || err != nil {
		t.Fatal(n, err)
	}
	for i, want := range []struct{ remove, first string }{{"two", "one"}, {"one", "three"}, {"three", ""}} {
		for at := range r.NumFields {
			if string(r.Value(at)) == want.remove && !r.Remove(at) {
				t.Errorf("%s is not removed", want.remove)
			}
		}
		got := ""
		if at := r.Find(http1.KnownCookie); at >= 0 {
			got = string(r.Value(at))
		}
		removed := 0
		for at := range r.NumFields {
			if r.Fields[at].Removed() {
				removed++
			}
		}
		if got != want.first || removed != i+1 {
			t.Errorf("without %s: %q is found, %d are removed", want.remove, got, removed)
		}
	}
}

func TestEditedFieldsHaveTheNewValue(t *testing.T) {
	r := mustParse(t, lf(editable))
	for name, v := range map[string]string{"A": "", "B": "two\tand a half", "C": "three"} {
		if !r.Edit(indexOf(t, &r.Head, name, 1), value(t, v)) {
			t.Errorf("%s cannot be edited", name)
		}
	}
	if i := r.Lookup("b"); string(r.Value(i)) != "two\tand a half" {
		t.Errorf("got %q", r.Value(i))
	}
	want := lf("GET /a HTTP/1.1\nHost: h\nA: \nCookie: one\nB: two\tand a half\nCookie: two\nC: three\nX-Forwarded-Proto: http\nX-Forwarded-Host: h\nForwarded: for=unknown;host=\"h\";proto=http\nContent-Length: 3\n\n")
	got := string(http1.AppendRequest(nil, r, &http1.Forward{Proto: []byte("http")}))
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if r = mustParse(t, got); string(r.Value(indexOf(t, &r.Head, "C", 1))) != "three" {
		t.Error("the next head parsed still has an edited value")
	}
}

func TestEditedLocationsOfAResponse(t *testing.T) {
	r := mustParseResponse(t, lf("HTTP/1.0 302 Found\nA: 1\nlocation: http://10.0.0.1/x\nB: 2\nContent-Location:http://10.0.0.1/y\nConnection: close\nC: 3\n\n"))
	r.Edit(r.Find(http1.KnownLocation), value(t, "https://a/x"))
	r.Edit(r.Find(http1.KnownContentLocation), value(t, "/y"))
	want := lf("HTTP/1.1 302 Found\nA: 1\nlocation: https://a/x\nB: 2\nContent-Location: /y\nC: 3\n\n")
	if got := string(http1.AppendResponse(nil, r, &http1.ResponseOptions{})); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFramingAndHopByHopFieldsCannotBeTouched(t *testing.T) {
	r := mustParse(t, lf("POST / HTTP/1.1\nHost: h\nConnection: te, x\nTE: trailers\nTransfer-Encoding: chunked\nExpect: 100-continue\nTrailer: X\nKeep-Alive: 1\nX: y\n\n"))
	before := string(http1.AppendRequest(nil, r, forward))
	for i := range r.NumFields {
		if name := string(r.Name(i)); name != "X" && (r.Remove(i) || r.Edit(i, value(t, "z"))) {
			t.Errorf("%s was touched", name)
		}
	}
	if got := string(http1.AppendRequest(nil, r, forward)); got != before {
		t.Errorf("got\n%s\nwant\n%s", got, before)
	}
	r.Edit(indexOf(t, &r.Head, "X", 1), value(t, "z")) // Connection names it
	if got := string(http1.AppendRequest(nil, r, forward)); got != before {
		t.Errorf("a hop-by-hop field was forwarded:\n%s", got)
	}
}

func TestFixedNames(t *testing.T) {
	for name, want := range map[string]bool{
		"Content-Length": true, "transfer-encoding": true, "HOST": true, "Connection": true, "Upgrade": true, "Expect": true,
		"TE": true, "Trailer": true, "Keep-Alive": true, "Proxy-Authorization": true, "Proxy": true,
		"Content_Length": true, "Transfer.Encoding": true, "": true, "a b": true, "a:": true, "a\r\n": true, "ä": true,
		"X-Forwarded-For": false, "Cookie": false, "Server": false, "X-Content-Length": false, "x": false, "a_b": false,
		"Content-Length-of-something-that-is-longer-than-any": false,
	} {
		if http1.Fixed([]byte(name)) != want {
			t.Errorf("%q: want %v", name, want)
		}
	}
}

func TestRulesSeeOnlyTrustedFields(t *testing.T) {
	r := mustParse(t, lf("GET / HTTP/1.1\nHost: h\nX-Forwarded-For: evil\nForwarded: for=evil\nX_Real_IP: evil\nUpgrade: x\nA: b\n\n"))
	var seen []string
	for i := range r.NumFields {
		if r.Visible(i) {
			seen = append(seen, string(r.Name(i)))
		}
	}
	if len(seen) != 3 || seen[0] != "Host" || seen[1] != "Upgrade" || seen[2] != "A" {
		t.Errorf("visible: %v", seen)
	}
	r.Remove(indexOf(t, &r.Head, "A", 1))
	if r.Visible(indexOf(t, &r.Head, "A", 1)) {
		t.Error("a removed field is visible")
	}
}

func TestLineIsNameColonBlankValue(t *testing.T) {
	r := mustParse(t, lf("GET / HTTP/1.1\nHost: h\nA:  1 \nB:2\nC:\t3\nD: 4\n\n"))
	r.Edit(indexOf(t, &r.Head, "D", 1), value(t, "four"))
	var space []byte
	for i, want := range []string{"Host: h", "A: 1", "B: 2", "C: 3", "D: four"} {
		line, grown := r.Line(i, space)
		if string(line) != want {
			t.Errorf("got %q, want %q", line, want)
		}
		if stands := i == 0; stands == (grown != nil) {
			t.Errorf("%q is copied: %t", want, stands)
		}
		if grown != nil {
			space = grown
		}
	}
}

func TestTrustedProxyIsBelieved(t *testing.T) {
	const head = "GET / HTTP/1.1\nHost: h\nX-Forwarded-For: 10.0.0.1\nA: b\nx-forwarded-for: 10.0.0.2, 10.0.0.3\nX_Forwarded_For: evil\n" +
		"Forwarded: for=10.0.0.1\nX-Forwarded-Proto: https\nX-Real-IP: 10.0.0.1\nX-SSL-Subject: me\nX-Forwarded-Port: 443\nConnection: x-real-ip\n\n"
	for name, c := range map[string]struct {
		edit func(r *http1.Request, f *http1.Forward)
		want string
	}{
		"as it came": {func(*http1.Request, *http1.Forward) {},
			"A: b\nX-Forwarded-Proto: https\nX-SSL-Subject: me\nX-Forwarded-Port: 443\nX-Forwarded-For: 10.0.0.1, 10.0.0.2, 10.0.0.3, 192.0.2.17\n" +
				"X-Forwarded-Host: h\nForwarded: for=10.0.0.1, for=192.0.2.17;host=\"h\";proto=http\n"},
		"rules took some out": {func(r *http1.Request, _ *http1.Forward) {
			r.Remove(indexOf(t, &r.Head, "X-Forwarded-For", 1))
			r.Remove(indexOf(t, &r.Head, "X-Forwarded-Proto", 1))
			r.Edit(indexOf(t, &r.Head, "x-forwarded-for", 1), value(t, "10.9.9.9"))
		}, "A: b\nX-SSL-Subject: me\nX-Forwarded-Port: 443\nX-Forwarded-For: 10.9.9.9, 192.0.2.17\nX-Forwarded-Proto: http\n" +
			"X-Forwarded-Host: h\nForwarded: for=10.0.0.1, for=192.0.2.17;host=\"h\";proto=http\n"},
		"rules give some": {func(_ *http1.Request, f *http1.Forward) {
			f.Given, f.Extra = http1.IdentityOf([]byte("X-FORWARDED-FOR"))|http1.IdentityHost|http1.IdentityOf([]byte("forwarded")), []byte("Forwarded: x\r\n")
		}, "A: b\nX-Forwarded-Proto: https\nX-SSL-Subject: me\nX-Forwarded-Port: 443\nForwarded: x\n"},
	} {
		r, f := mustParse(t, lf(head)), *forward
		r.Trust()
		if !r.Visible(indexOf(t, &r.Head, "X-Forwarded-For", 1)) || r.Visible(indexOf(t, &r.Head, "X-Real-IP", 1)) {
			t.Error("rules see the wrong fields")
		}
		c.edit(r, &f)
		if got := string(http1.AppendRequest(nil, r, &f)); got != lf("GET / HTTP/1.1\nHost: h\n"+c.want+"\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
	r, f := mustParse(t, lf(head)), *forward
	f.Given = http1.IdentityProto
	want := lf("GET / HTTP/1.1\nHost: h\nA: b\nX-Forwarded-For: 192.0.2.17\nX-Forwarded-Host: h\nForwarded: for=192.0.2.17;host=\"h\";proto=http\n\n")
	if got := string(http1.AppendRequest(nil, r, &f)); got != want {
		t.Errorf("with given identity fields: got\n%s\nwant\n%s", got, want)
	}
}

func TestIdentityOfNames(t *testing.T) {
	for name, want := range map[string]http1.Identity{
		"x-forwarded-for": http1.IdentityFor, "X-Forwarded-Proto": http1.IdentityProto, "X-FORWARDED-HOST": http1.IdentityHost,
		"Forwarded": http1.IdentityForwarded, "X-Forwarded-Port": 0, "X_Forwarded_For": 0, "Host": 0, "": 0, "X-Forwarded-Fo": 0,
		"X-Forwarded-For" + strings.Repeat("x", 100): 0,
	} {
		if got := http1.IdentityOf([]byte(name)); got != want {
			t.Errorf("%s: %b, want %b", name, got, want)
		}
	}
}

func TestDistrustedFieldsAreNotForwarded(t *testing.T) {
	r := mustParse(t, lf("GET / HTTP/1.1\nHost: h\nX-SSL-Subject: me\nX-Forwarded-For: 10.0.0.1\nX-SSL-Issuer: me\nX-Forwarded-For: 10.0.0.2\nA: b\n\n"))
	r.Trust()
	r.Distrust(http1.KnownXSSL)
	r.Distrust(http1.KnownXForwardedFor)
	want := lf("GET / HTTP/1.1\nHost: h\nA: b\nX-Forwarded-For: 192.0.2.17\nX-Forwarded-Proto: http\nX-Forwarded-Host: h\nForwarded: for=192.0.2.17;host=\"h\";proto=http\n\n")
	if got := string(http1.AppendRequest(nil, r, forward)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
