package http1_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

// result is the interpretation of a chunked body.
type result struct {
	out  string
	in   int
	done bool
	err  error
}

// feed passes body to c in pieces of sizes from next.
func feed(c *http1.Chunked, body string, decode bool, next func() int) (r result) {
	for r.in < len(body) && !c.Done() && r.err == nil {
		p := []byte(body[r.in:min(len(body), r.in+next())])
		var in, out int
		if decode {
			in, out, r.err = c.Decode(p)
		} else {
			in, out, r.err = c.Scan(p)
		}
		r.out += string(p[:out])
		r.in += in
		if r.err == nil && !c.Done() && in < len(p) {
			panic("bytes were left over before the end")
		}
	}
	r.out += string(c.Trailer())
	r.done = c.Done()
	return r
}

// both processes body as a whole and in pieces of every size, and checks that the results
// are equal.
func both(t *testing.T, body string, keep, decode bool) result {
	t.Helper()
	var c http1.Chunked
	c.Reset(keep)
	whole := feed(&c, body, decode, func() int { return len(body) })
	for step := 1; step < min(len(body), 40); step++ {
		c.Reset(keep)
		if r := feed(&c, body, decode, func() int { return step }); r != whole {
			t.Errorf("%.200q in steps of %d: %.300v, whole: %.300v", body, step, r, whole)
		}
	}
	return whole
}

func TestChunkedBodiesAreCleaned(t *testing.T) {
	for name, c := range map[string]struct{ in, scan, decode string }{
		"empty":              {"0\n\n", "0\n\n", ""},
		"one":                {"5\nhello\n0\n\n", "5\nhello\n0\n\n", "hello"},
		"hex":                {"A\n0123456789\n00b\nhello world\n000\n\n", "A\n0123456789\n00b\nhello world\n000\n\n", "0123456789hello world"},
		"16 digits":          {"0000000000000001\nx\n0000000000000000\n\n", "0000000000000001\nx\n0000000000000000\n\n", "x"},
		"extension":          {"5;a=b\nhello\n0;last\n\n", "5\nhello\n0\n\n", "hello"},
		"quoted extension":   {"5 ; a=\"b;\tc\"\nhello\n5\t;x\nworld\n0\n\n", "5\nhello\n5\nworld\n0\n\n", "helloworld"},
		"trailers":           {"5\nhello\n0\nX-A: b\nC:d\n\n", "5\nhello\n0\n\n", "hello"},
		"extension, trailer": {"5;a\nhello\n0;b\nX: y\n\n", "5\nhello\n0\n\n", "hello"},
		"data like framing":  {"7\n\n0\n\n\n0\n\n", "7\n\n0\n\n\n0\n\n", "\n0\n\n"},
	} {
		in, scan, decode := lf(c.in), lf(c.scan), lf(c.decode)
		if name == "data like framing" {
			in, scan, decode = "7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n", "7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n", "\r\n0\r\n\r\n"
		}
		for _, rest := range []string{"", "GET / HTTP/1.1\r\n"} {
			if r := both(t, in+rest, false, false); r != (result{scan, len(in), true, nil}) {
				t.Errorf("%s: scanned %+v", name, r)
			}
			if r := both(t, in+rest, false, true); r != (result{decode, len(in), true, nil}) {
				t.Errorf("%s: decoded %+v", name, r)
			}
		}
	}
}

func TestRow3BadChunksAreRefused(t *testing.T) {
	big := "5;" + strings.Repeat("e", 255)
	for name, c := range map[string]struct {
		body string
		want *http1.Error
	}{
		"no size":                 {"\r\nhello", http1.ErrChunkSize},
		"size too long":           {"00000000000000005\r\nhello\r\n", http1.ErrChunkSize},
		"size overflows":          {"ffffffffffffffff\r\n", http1.ErrChunkSize},
		"size of 64 bits":         {"8000000000000000\r\n", http1.ErrChunkSize},
		"size wraps around":       {"10000000000000005\r\nhello\r\n", http1.ErrChunkSize},
		"negative":                {"-5\r\nhello\r\n", http1.ErrChunkSize},
		"plus":                    {"+5\r\nhello\r\n", http1.ErrChunkSize},
		"0x":                      {"0x5\r\nhello\r\n", http1.ErrChunkSize},
		"underscore":              {"1_0\r\n", http1.ErrChunkSize},
		"blank before":            {" 5\r\nhello\r\n", http1.ErrChunkSize},
		"blank after":             {"5 \r\nhello\r\n", http1.ErrChunkSize},
		"not hex":                 {"g\r\n", http1.ErrChunkSize},
		"quoted":                  {"\"5\"\r\nhello\r\n", http1.ErrChunkSize},
		"NUL":                     {"5\x00\r\nhello\r\n", http1.ErrChunkSize},
		"LF only":                 {"5\nhello\r\n", http1.ErrChunkSize},
		"CR only":                 {"5\rhello\r\n", http1.ErrChunkSize},
		"CR CR LF":                {"5\r\r\nhello\r\n", http1.ErrChunkSize},
		"LF after last":           {"0\n\n", http1.ErrChunkSize},
		"LF in extension":         {"5;a\nb\r\nhello\r\n", http1.ErrChunkExtension},
		"CR in extension":         {"5;a\rb\r\nhello\r\n", http1.ErrChunkSize},
		"NUL in extension":        {"5;a\x00\r\nhello\r\n", http1.ErrChunkExtension},
		"extension without ;":     {"5 a\r\nhello\r\n", http1.ErrChunkSize},
		"endless extension":       {"5;" + strings.Repeat("e", 1000), http1.ErrChunkExtension},
		"endless blanks":          {"5" + strings.Repeat(" ", 1000), http1.ErrChunkExtension},
		"many long extensions":    {strings.Repeat(big+"\r\nhello\r\n", 100), http1.ErrChunkExtension},
		"data too long":           {"5\r\nhello!\r\n", http1.ErrChunkEnd},
		"data too short":          {"5\r\nhell\r\n0\r\n\r\n", http1.ErrChunkEnd},
		"LF after data":           {"5\r\nhello\n0\r\n\r\n", http1.ErrChunkEnd},
		"CR after data":           {"5\r\nhello\r0\r\n\r\n", http1.ErrChunkEnd},
		"nothing after data":      {"5\r\nhello0\r\n\r\n", http1.ErrChunkEnd},
		"LF at the end":           {"0\r\n\n", http1.ErrTrailer},
		"CR CR at the end":        {"0\r\n\r\r\n", http1.ErrTrailer},
		"trailer without colon":   {"0\r\nA\r\n\r\n", http1.ErrTrailer},
		"trailer without name":    {"0\r\n: b\r\n\r\n", http1.ErrTrailer},
		"blank in trailer name":   {"0\r\nA : b\r\n\r\n", http1.ErrTrailer},
		"folded trailer":          {"0\r\nA: b\r\n c\r\n\r\n", http1.ErrTrailer},
		"LF after trailer":        {"0\r\nA: b\n\r\n", http1.ErrTrailer},
		"CR in trailer":           {"0\r\nA: b\rc\r\n\r\n", http1.ErrTrailer},
		"NUL in trailer":          {"0\r\nA: \x00\r\n\r\n", http1.ErrTrailer},
		"next request as trailer": {"0\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", http1.ErrTrailer},
		"endless trailer":         {"0\r\nA: " + strings.Repeat("b", 9000), http1.ErrTrailerTooLong},
		"endless trailers":        {"0\r\n" + strings.Repeat("A: b\r\n", 2000), http1.ErrTrailerTooLong},
		"endless trailer name":    {"0\r\n" + strings.Repeat("b", 9000), http1.ErrTrailerTooLong},
	} {
		for _, decode := range []bool{false, true} {
			if r := both(t, c.body, true, decode); r.err != c.want || r.done {
				t.Errorf("%s: %v, want %v", name, r.err, c.want)
			}
		}
		if c.want.Status != 400 {
			t.Errorf("%s: status %d, want 400", name, c.want.Status)
		}
	}
}

func TestRow3TrailersThatCarryFramingOrIdentityAreRefused(t *testing.T) {
	for _, name := range []string{
		"Content-Length", "transfer-encoding", "Host", "Connection", "Trailer", "TE", "Upgrade", "Keep-Alive", "Expect",
		"X-Forwarded-For", "X-Forwarded-Anything", "Forwarded", "X-Real-IP", "X-SSL-Client", "X_Forwarded_For",
		"Content_Length", "Authorization", "Cookie", "Set-Cookie", "Proxy-Authorization",
		"X-Forwarded-" + strings.Repeat("a", 100), "X_SSL_" + strings.Repeat("a", 100),
	} {
		for _, keep := range []bool{false, true} {
			if r := both(t, "0\r\nETag: a\r\n"+name+": 1\r\n\r\n", keep, false); r.err != http1.ErrTrailerField {
				t.Errorf("%s: got %v, want %v", name, r.err, http1.ErrTrailerField)
			}
		}
	}
}

func TestTrailersAreKeptWhenAsked(t *testing.T) {
	const body = "5;x\r\nhello\r\n0\r\nX-Other: 1\r\nServer-Timing: a;dur=1\r\nX: 2\r\neTag:\"x\" \r\n\r\n"
	want := result{"5\r\nhello\r\n0\r\nX-Other: 1\r\nServer-Timing: a;dur=1\r\nX: 2\r\neTag:\"x\" \r\n\r\n", len(body), true, nil}
	if r := both(t, body+"next", true, false); r != want {
		t.Errorf("got %+v, want %+v", r, want)
	}
	want.out = "5\r\nhello\r\n0\r\n\r\n"
	if r := both(t, body+"next", false, false); r != want {
		t.Errorf("got %+v, want %+v", r, want)
	}
	long := "0\r\nETag" + strings.Repeat("x", 100) + ": 1\r\n\r\n"
	if r := both(t, long, true, false); r != (result{"0\r\n\r\n", len(long), true, nil}) {
		t.Errorf("got %+v", r)
	}
}

func TestCleanBodiesAreNotCopied(t *testing.T) {
	body := []byte("5\r\nhello\r\n0\r\n\r\n")
	var c http1.Chunked
	in, out, err := c.Scan(body)
	if in != len(body) || out != in || err != nil || !c.Done() || c.Trailer() != nil {
		t.Errorf("%d, %d, %v", in, out, err)
	}
	if in, out, err := c.Scan([]byte("more")); in != 0 || out != 0 || err != nil {
		t.Errorf("after the end: %d, %d, %v", in, out, err)
	}
}

func TestBodyParsesTheSameInAnyPieces(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var body, clean, data bytes.Buffer
		for range rnd.IntN(8) {
			p := bytes.Repeat([]byte{byte('a' + rnd.IntN(26))}, 1+rnd.IntN(40))
			ext := strings.Repeat(";e", rnd.IntN(2))
			fmt.Fprintf(&body, "%x%s\r\n%s\r\n", len(p), ext, p)
			fmt.Fprintf(&clean, "%x\r\n%s\r\n", len(p), p)
			data.Write(p)
		}
		body.WriteString("0\r\n" + strings.Repeat("X-T: t\r\n", rnd.IntN(2)) + "\r\n")
		clean.WriteString("0\r\n\r\n")
		for _, decode := range []bool{false, true} {
			var c http1.Chunked
			want := clean.String()
			if decode {
				want = data.String()
			}
			r := feed(&c, body.String(), decode, func() int { return 1 + rnd.IntN(30) })
			if r != (result{want, body.Len(), true, nil}) {
				t.Fatalf("seed %d: %+v from %q", seed, r, body.String())
			}
		}
	}
}

func TestChunkBeyondTheLimitIsRefusedCompletely(t *testing.T) {
	const body = "4\r\nabcd\r\n5;x\r\nefghi\r\n1\r\nj\r\n0\r\n\r\n"
	for limit, want := range map[uint64]string{10: "abcdefghij", 11: "abcdefghij", 9: "abcdefghi", 8: "abcd", 4: "abcd", 3: ""} {
		for step := 1; step <= len(body); step++ {
			var c http1.Chunked
			c.Reset(false)
			c.Limit(limit)
			r := feed(&c, body, true, func() int { return step })
			if over := limit < 10; over != (r.err == http1.ErrBodyTooLong) || over == r.done || r.out != want {
				t.Errorf("limit %d, steps of %d: %q, %v", limit, step, r.out, r.err)
			}
		}
	}
	var c http1.Chunked
	c.Reset(false)
	c.Limit(1 << 62)
	if r := feed(&c, "7ffffffffffffff\r\n", false, func() int { return 5 }); r.err != nil {
		t.Errorf("a chunk of 1<<59 - 1 bytes is refused: got %v, want nil", r.err)
	}
}

func TestChunkedBodiesMayFillTheirLimits(t *testing.T) {
	extension := "1;" + strings.Repeat("e", 255) + "\r\nx\r\n"
	trailer := func(n int) string { return "0\r\nA: " + strings.Repeat("b", n-len("A: \r\n\r\n")) + "\r\n\r\n" }
	big := "400\r\n" + strings.Repeat("x", 0x400) + "\r\n"
	for name, c := range map[string]struct {
		body string
		want error
	}{
		"an extension of 256 bytes":    {extension, nil},
		"an extension of 257 bytes":    {"1;" + strings.Repeat("e", 256), http1.ErrChunkExtension},
		"16 KiB more than data":        {strings.Repeat(extension, 64), nil}, // each offset by a byte of the one before
		"more than 16 KiB over data":   {strings.Repeat(extension, 64) + "1;" + strings.Repeat("e", 64), http1.ErrChunkExtension},
		"data outweighs extensions":    {strings.Repeat(big+extension, 100), nil},
		"no data in advance":           {strings.Repeat(big, 100) + strings.Repeat(extension, 65), http1.ErrChunkExtension},
		"trailers of 8 KiB":            {trailer(8 << 10), nil},
		"trailers of 8 KiB and a byte": {trailer(8<<10 + 1), http1.ErrTrailerTooLong},
	} {
		for _, step := range []int{1000, len(c.body)} {
			var d http1.Chunked
			if r := feed(&d, c.body, true, func() int { return step }); r.err != c.want {
				t.Errorf("%s, steps of %d: %v, want %v", name, step, r.err, c.want)
			}
		}
	}
	for length, kept := range map[int]bool{1: true, 63: true, 64: false, 65: false} {
		var c http1.Chunked
		c.Reset(true)
		line := strings.Repeat("n", length) + ": 1\r\n"
		want := "0\r\n\r\n"
		if kept {
			want = "0\r\n" + line + "\r\n"
		}
		if r := feed(&c, "0\r\n"+line+"\r\n", false, func() int { return 7 }); r.out != want || r.err != nil {
			t.Errorf("a trailer whose name has %d bytes: %+v", length, r)
		}
	}
}
