package http1_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

// The tests follow the rows of the bad-input list, section HTTP/1.

type bad struct {
	head string // lines with LF line ends
	want *http1.Error
}

func refuseAll(t *testing.T, cases map[string]bad) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { wantRefusal(t, lf(c.head), c.want) })
	}
}

func TestRow1AmbiguousLengthsAreRefused(t *testing.T) {
	post := func(fields string, want *http1.Error) bad {
		return bad{"POST / HTTP/1.1\nHost: a\n" + fields + "\n\n", want}
	}
	refuseAll(t, map[string]bad{
		"length with coding":       post("Content-Length: 5\nTransfer-Encoding: chunked", http1.ErrCodingLength),
		"coding with length":       post("Transfer-Encoding: chunked\nContent-Length: 5", http1.ErrCodingLength),
		"zero length with coding":  post("Transfer-Encoding: chunked\nContent-Length: 0", http1.ErrCodingLength),
		"two lengths":              post("Content-Length: 5\nContent-Length: 6", http1.ErrLengthRepeated),
		"the same length twice":    post("Content-Length: 5\ncontent-length: 5", http1.ErrLengthRepeated),
		"list of lengths":          post("Content-Length: 1000,1000", http1.ErrLength),
		"list with blank":          post("Content-Length: 1000, 1000", http1.ErrLength),
		"empty":                    post("Content-Length:", http1.ErrLength),
		"only blanks":              post("Content-Length: \t ", http1.ErrLength),
		"plus":                     post("Content-Length: +5", http1.ErrLength),
		"minus":                    post("Content-Length: -5", http1.ErrLength),
		"hex":                      post("Content-Length: 0x5", http1.ErrLength),
		"hex digits":               post("Content-Length: a", http1.ErrLength),
		"blank inside":             post("Content-Length: 1 0", http1.ErrLength),
		"underscores":              post("Content-Length: 1_0", http1.ErrLength),
		"fraction":                 post("Content-Length: 1.0", http1.ErrLength),
		"19 digits":                post("Content-Length: 1000000000000000000", http1.ErrLength),
		"huge":                     post("Content-Length: 99999999999999999999999999", http1.ErrLength),
		"many zeros":               post("Content-Length: 0000000000000000005", http1.ErrLength),
		"quoted":                   post("Content-Length: \"5\"", http1.ErrLength),
		"xchunked":                 post("Transfer-Encoding: xchunked", http1.ErrCoding),
		"chunked twice":            post("Transfer-Encoding: chunked\nTransfer-Encoding: chunked", http1.ErrCoding),
		"chunked twice in a list":  post("Transfer-Encoding: chunked, chunked", http1.ErrCoding),
		"gzip":                     post("Transfer-Encoding: gzip", http1.ErrCoding),
		"gzip, chunked":            post("Transfer-Encoding: gzip, chunked", http1.ErrCodingUnknown),
		"Gzip ,\t Chunked":         post("Transfer-Encoding: Gzip ,\t Chunked", http1.ErrCodingUnknown),
		"chunked, gzip, chunked":   post("Transfer-Encoding: chunked, gzip, chunked", http1.ErrCoding),
		"gzip; q=1, chunked":       post("Transfer-Encoding: gzip; q=1, chunked", http1.ErrCoding),
		"gzip, then chunked":       post("Transfer-Encoding: gzip\nTransfer-Encoding: chunked", http1.ErrCoding),
		"chunked, identity":        post("Transfer-Encoding: chunked, identity", http1.ErrCoding),
		"identity":                 post("Transfer-Encoding: identity", http1.ErrCoding),
		"empty coding":             post("Transfer-Encoding:", http1.ErrCoding),
		"chunked with parameter":   post("Transfer-Encoding: chunked;q=1", http1.ErrCoding),
		"chunked with comma":       post("Transfer-Encoding: ,chunked", http1.ErrCoding),
		"chunked quoted":           post("Transfer-Encoding: \"chunked\"", http1.ErrCoding),
		"chunked, vertical tab":    post("Transfer-Encoding: \vchunked", http1.ErrFieldValue),
		"chunked, no-break space":  post("Transfer-Encoding: \u00a0chunked", http1.ErrCoding),
		"coding, blank before":     post("Transfer-Encoding : chunked", http1.ErrFieldName),
		"coding in HTTP/1.0":       {"POST / HTTP/1.0\nHost: a\nTransfer-Encoding: chunked\n\n", http1.ErrCodingVersion},
		"coding, length, HTTP/1.0": {"POST / HTTP/1.0\nContent-Length: 1\nTransfer-Encoding: chunked\n\n", http1.ErrCodingLength},
		"long name wraps around": post("Content-Length"+strings.Repeat("0", 256)+": 0\nContent-Length: 5\nTransfer-Encoding: chunked",
			http1.ErrCodingLength),
	})
	for _, c := range []*http1.Error{http1.ErrCodingLength, http1.ErrLengthRepeated, http1.ErrLength, http1.ErrCoding, http1.ErrCodingVersion} {
		if c.Status != 400 {
			t.Errorf("%v: status %d, want 400", c, c.Status)
		}
	}
}

func TestRow2MalformedLinesAreRefused(t *testing.T) {
	get := func(fields string) string { return "GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n\r\n" }
	for name, c := range map[string]bad{
		"folded line":            {get("A: b\r\n c"), http1.ErrFold},
		"folded line by tab":     {get("A: b\r\n\tc"), http1.ErrFold},
		"folded first line":      {"GET / HTTP/1.1\r\n Host: a\r\n\r\n", http1.ErrFold},
		"folded blank line":      {get("A: b\r\n "), http1.ErrFold},
		"bare LF after value":    {get("A: b\nC: d"), http1.ErrLineEnd},
		"bare LF in name":        {get("A\nB: d"), http1.ErrLineEnd},
		"bare LF after line":     {"GET / HTTP/1.1\nHost: a\r\n\r\n", http1.ErrLineEnd},
		"bare LF everywhere":     {"GET / HTTP/1.1\nHost: a\n\n", http1.ErrLineEnd},
		"bare LF as blank line":  {"GET / HTTP/1.1\r\nHost: a\r\n\n", http1.ErrLineEnd},
		"LF CR":                  {"GET / HTTP/1.1\r\nHost: a\n\r\n\r\n", http1.ErrLineEnd},
		"bare CR in value":       {get("A: b\rC: d"), http1.ErrLineEnd},
		"bare CR before CRLF":    {get("A: b\r"), http1.ErrLineEnd},
		"bare CR in name":        {get("A\rB: c"), http1.ErrFieldName},
		"bare CR as blank line":  {"GET / HTTP/1.1\r\nHost: a\r\n\rX: y\r\n\r\n", http1.ErrLineEnd},
		"bare CR in target":      {"GET /\r HTTP/1.1\r\nHost: a\r\n\r\n", http1.ErrTargetByte},
		"NUL in value":           {get("A: b\x00c"), http1.ErrFieldValue},
		"NUL in name":            {get("A\x00: b"), http1.ErrFieldName},
		"NUL in target":          {"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n", http1.ErrTargetByte},
		"blank before colon":     {get("A : b"), http1.ErrFieldName},
		"tab before colon":       {get("A\t: b"), http1.ErrFieldName},
		"blank in name":          {get("A b: c"), http1.ErrFieldName},
		"empty name":             {get(": b"), http1.ErrFieldName},
		"no colon":               {get("A"), http1.ErrFieldName},
		"escape in value":        {get("A: \x1b[2J"), http1.ErrFieldValue},
		"DEL in value":           {get("A: b\x7f"), http1.ErrFieldValue},
		"form feed in value":     {get("A: \fb"), http1.ErrFieldValue},
		"slash in name":          {get("A/b: c"), http1.ErrFieldName},
		"obs-text in name":       {get("\xc3\xa9: c"), http1.ErrFieldName},
		"no-break space, name":   {get("A\xa0: c"), http1.ErrFieldName},
		"parenthesis in name":    {get("A(): c"), http1.ErrFieldName},
		"two empty lines":        {"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", http1.ErrRequestLine},
		"LF before request":      {"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", http1.ErrRequestLine},
		"CR before request":      {"\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", http1.ErrLineEnd},
		"blank before request":   {" GET / HTTP/1.1\r\nHost: a\r\n\r\n", http1.ErrRequestLine},
		"two blanks":             {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", http1.ErrTarget},
		"two blanks before HTTP": {"GET /  HTTP/1.1\r\nHost: a\r\n\r\n", http1.ErrVersion},
		"tab instead of blank":   {"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n", http1.ErrRequestLine},
		"tab before version":     {"GET /\tHTTP/1.1\r\nHost: a\r\n\r\n", http1.ErrTargetByte},
		"blank after version":    {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", http1.ErrVersion},
		"no version":             {"GET /\r\nHost: a\r\n\r\n", http1.ErrTargetByte},
		"empty version":          {"GET / \r\nHost: a\r\n\r\n", http1.ErrVersion},
		"lower-case version":     {"GET / http/1.1\r\nHost: a\r\n\r\n", http1.ErrVersion},
		"version 1.10":           {"GET / HTTP/1.10\r\nHost: a\r\n\r\n", http1.ErrVersion},
		"version 1":              {"GET / HTTP/1\r\nHost: a\r\n\r\n", http1.ErrVersion},
		"version 11":             {"GET / HTTP/11\r\nHost: a\r\n\r\n", http1.ErrVersion},
		"version 1.2":            {"GET / HTTP/1.2\r\nHost: a\r\n\r\n", http1.ErrVersionUnknown},
		"version 0.9":            {"GET / HTTP/0.9\r\nHost: a\r\n\r\n", http1.ErrVersionUnknown},
		"version 2.0":            {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", http1.ErrVersionUnknown},
		"other protocol":         {"GET / ICAP/1.1\r\nHost: a\r\n\r\n", http1.ErrVersion},
		"TLS hello":              {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", http1.ErrRequestLine},
		"no method":              {" / HTTP/1.1\r\nHost: a\r\n\r\n", http1.ErrRequestLine},
		"method not a token":     {"GE(T / HTTP/1.1\r\nHost: a\r\n\r\n", http1.ErrRequestLine},
		"endless method":         {strings.Repeat("A", 33), http1.ErrMethodTooLong},
		"connection not a list":  {get("Connection: close foo"), http1.ErrConnection},
		"connection of 17 names": {get("Connection: " + strings.Repeat("x,", 17)), http1.ErrConnection},
		"17 names on two lines":  {get("Connection: " + strings.Repeat("x,", 9) + "\r\nConnection: " + strings.Repeat("y,", 8)), http1.ErrConnection},
		"unknown expectation":    {get("Expect: 200-maybe"), http1.ErrExpect},
		"two expectations":       {get("Expect: 100-continue\r\nExpect: 100-continue"), http1.ErrExpect},
		"TRACE with body":        {"TRACE / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n", http1.ErrTraceBody},
	} {
		t.Run(name, func(t *testing.T) { wantRefusal(t, c.head, c.want) })
	}
}

func TestRow2EveryByteOfNamesAndValues(t *testing.T) {
	for c := range 256 {
		b := string([]byte{byte(c)})
		token := strings.Contains("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", b)
		// Every position of a word of eight bytes, which are examined together.
		for pad := range 17 {
			p := strings.Repeat("p", pad)
			_, err := new(http1.Request).Parse([]byte("GET / HTTP/1.1\r\nHost: a\r\nN" + p + b + "n: v\r\n\r\n"))
			if (err == nil) != (token || c == ':') {
				t.Errorf("byte %#x in a name: %v", c, err)
			}
			_, err = new(http1.Request).Parse([]byte("GET / HTTP/1.1\r\nHost: a\r\nN: " + p + b + "v" + p + "\r\n\r\n"))
			if (err == nil) != (c >= 0x20 && c != 0x7f || c == '\t') {
				t.Errorf("byte %#x in a value: %v", c, err)
			}
			_, err = new(http1.Request).Parse([]byte("GET /?" + p + b + p + " HTTP/1.1\r\nHost: a\r\n\r\n"))
			if c != ' ' && (err == nil) != (c > 0x20 && c != 0x7f && c != '#') {
				t.Errorf("byte %#x in a query: %v", c, err)
			}
		}
	}
}

func TestRow4HostsAreRefused(t *testing.T) {
	host := func(v string, want *http1.Error) bad {
		return bad{"GET / HTTP/1.1\nHost: " + v + "\n\n", want}
	}
	refuseAll(t, map[string]bad{
		"several":                {"GET / HTTP/1.1\nHost: a\nHost: b\n\n", http1.ErrHostRepeated},
		"the same twice":         {"GET / HTTP/1.1\nHost: a\nhost: a\n\n", http1.ErrHostRepeated},
		"several, HTTP/1.0":      {"GET / HTTP/1.0\nHost: a\nHost: b\n\n", http1.ErrHostRepeated},
		"missing":                {"GET / HTTP/1.1\n\n", http1.ErrHostMissing},
		"empty":                  host("", http1.ErrHostMissing),
		"path":                   host("a/b", http1.ErrHost),
		"user":                   host("user@a", http1.ErrHost),
		"user and password":      host("user:pw@a", http1.ErrHost),
		"scheme":                 host("http://a", http1.ErrHost),
		"query":                  host("a?b", http1.ErrHost),
		"fragment":               host("a#b", http1.ErrHost),
		"blank":                  host("a b", http1.ErrHost),
		"list":                   host("a, b", http1.ErrHost),
		"escape":                 host("a%2eb", http1.ErrHost),
		"backslash":              host("a\\b", http1.ErrHost),
		"UTF-8":                  host("\u00e4.de", http1.ErrHost),
		"empty label":            host("a..b", http1.ErrHost),
		"dot":                    host(".", http1.ErrHost),
		"leading dot":            host(".a", http1.ErrHost),
		"two trailing dots":      host("a..", http1.ErrHost),
		"only port":              host(":80", http1.ErrHost),
		"port too large":         host("a:65536", http1.ErrHost),
		"port wraps around":      host("a:4294967376", http1.ErrHost),
		"port with letters":      host("a:80a", http1.ErrHost),
		"signed port":            host("a:+80", http1.ErrHost),
		"port with zeros":        host("a:080", http1.ErrHost),
		"two ports":              host("a:80:80", http1.ErrHost),
		"open bracket":           host("[::1", http1.ErrHost),
		"bracket alone":          host("[", http1.ErrHost),
		"bracket and port":       host("[:80", http1.ErrHost),
		"after bracket":          host("[::1]a", http1.ErrHost),
		"zone":                   host("[fe80::1%25eth0]", http1.ErrHost),
		"empty brackets":         host("[]", http1.ErrHost),
		"short address":          host("[1:2:3]", http1.ErrHost),
		"long address":           host("[1:2:3:4:5:6:7:8:9]", http1.ErrHost),
		"gap of nothing":         host("[1:2:3:4::5:6:7:8]", http1.ErrHost),
		"two gaps":               host("[1::2::3]", http1.ErrHost),
		"three colons":           host("[1:::2]", http1.ErrHost),
		"colon at the end":       host("[1:2:3:4:5:6:7:]", http1.ErrHost),
		"colon at the start":     host("[:2:3:4:5:6:7:8]", http1.ErrHost),
		"five digits":            host("[12345::1]", http1.ErrHost),
		"bad IPv4 in IPv6":       host("[::1.2.3.256]", http1.ErrHost),
		"short IPv4 in IPv6":     host("[::1.2.3]", http1.ErrHost),
		"octal IPv4 in IPv6":     host("[::01.2.3.4]", http1.ErrHost),
		"IPv4 in brackets":       host("[1.2.3.4]", http1.ErrHost),
		"future literal":         host("[v1.x]", http1.ErrHost),
		"unbracketed IPv6":       host("::1", http1.ErrHost),
		"too long":               host(strings.Repeat("a", 256), http1.ErrHost),
		"target against Host":    {"GET http://a/ HTTP/1.1\nHost: b\n\n", http1.ErrTargetHost},
		"target, other port":     {"GET http://a:81/ HTTP/1.1\nHost: a\n\n", http1.ErrTargetHost},
		"target, port of http":   {"GET https://a:80/ HTTP/1.1\nHost: a\n\n", http1.ErrTargetHost},
		"target, port of https":  {"GET http://a/ HTTP/1.1\nHost: a:443\n\n", http1.ErrTargetHost},
		"target, two ports":      {"GET http://a:80/ HTTP/1.1\nHost: a:8080\n\n", http1.ErrTargetHost},
		"target, part of a host": {"GET http://a/ HTTP/1.1\nHost: a80\n\n", http1.ErrTargetHost},
		"target, user":           {"GET http://u@a/ HTTP/1.1\nHost: a\n\n", http1.ErrTarget},
		"target, no host":        {"GET http:///x HTTP/1.1\nHost: a\n\n", http1.ErrTarget},
		"target, ftp":            {"GET ftp://a/x HTTP/1.1\nHost: a\n\n", http1.ErrTarget},
		"target, xttp":           {"GET xttp://a/x HTTP/1.1\nHost: a\n\n", http1.ErrTarget},
		"target, xttps":          {"GET xttps://a/x HTTP/1.1\nHost: a\n\n", http1.ErrTarget},
		"target, no Host":        {"GET http://a/ HTTP/1.1\n\n", http1.ErrHostMissing},
		"target, relative":       {"GET a HTTP/1.1\nHost: a\n\n", http1.ErrTarget},
		"target, authority":      {"GET a:80 HTTP/1.1\nHost: a:80\n\n", http1.ErrTarget},
		"asterisk with GET":      {"GET * HTTP/1.1\nHost: a\n\n", http1.ErrTarget},
		"asterisk and more":      {"OPTIONS *a HTTP/1.1\nHost: a\n\n", http1.ErrTarget},
		"CONNECT":                {"CONNECT a:443 HTTP/1.1\nHost: a:443\n\n", http1.ErrConnect},
		"CONNECT, path":          {"CONNECT / HTTP/1.1\nHost: a\n\n", http1.ErrConnect},
	})
	if http1.ErrConnect.Status != 405 {
		t.Error("CONNECT is not answered 405")
	}
}

func TestRow5TargetsWithoutAReadingAreRefused(t *testing.T) {
	for target, want := range map[string]*http1.Error{
		"/a%00":               http1.ErrTargetControl,
		"/a%0a":               http1.ErrTargetControl,
		"/a%0D%0Ab":           http1.ErrTargetControl,
		"/a%2500":             http1.ErrTargetControl,
		"/a%25250d%25250a":    http1.ErrTargetControl,
		"/a%250%61b":          http1.ErrTargetControl,
		"/a;x%00":             http1.ErrTargetControl,
		"/%2":                 http1.ErrTargetEscape,
		"/%":                  http1.ErrTargetEscape,
		"/%zz":                http1.ErrTargetEscape,
		"/%u0041":             http1.ErrTargetEscape,
		"/%2?a":               http1.ErrTargetEscape,
		"/..":                 http1.ErrTargetDots,
		"/../a":               http1.ErrTargetDots,
		"/a/../..":            http1.ErrTargetDots,
		"/a/../../b":          http1.ErrTargetDots,
		"//..":                http1.ErrTargetDots,
		"/%2e%2e":             http1.ErrTargetDots,
		"/%2e./a":             http1.ErrTargetDots,
		"/./..":               http1.ErrTargetDots,
		"/..%2fa":             http1.ErrTargetDots,
		"/..%5ca":             http1.ErrTargetDots,
		"/..;/a":              http1.ErrTargetDots,
		"/a/..;x/..":          http1.ErrTargetDots,
		"/a/..;x/..;/b":       http1.ErrTargetDots,
		"/%252e%252e/":        http1.ErrTargetDots,
		"/a/..%252f..%252fb":  http1.ErrTargetDots,
		"/a#b":                http1.ErrTargetByte,
		"/a?b#c":              http1.ErrTargetByte,
		"/a\x7f":              http1.ErrTargetByte,
		"/a\x01":              http1.ErrTargetByte,
		"/\xc0\xaf":           http1.ErrTargetUTF8,
		"/%c0\xaf":            http1.ErrTargetUTF8,
		"/%c0%af":             http1.ErrTargetUTF8,
		"/%25c0%25af":         http1.ErrTargetUTF8,
		"/%c0%25af":           http1.ErrTargetUTF8,
		"/%c0%ae%c0%ae/":      http1.ErrTargetUTF8,
		"/%C1%9c":             http1.ErrTargetUTF8,
		"/%e0%80%af":          http1.ErrTargetUTF8,
		"/%f0%80%80%af":       http1.ErrTargetUTF8,
		"/%e0%9f%bf":          http1.ErrTargetUTF8,
		"/%20%c0%af":          http1.ErrTargetUTF8,
		"/%20abc%20a%c0%af":   http1.ErrTargetUTF8,
		"/%f0%8f%bf%bf":       http1.ErrTargetUTF8,
		"/%f8%80%80%80%af":    http1.ErrTargetUTF8,
		"/%fc%80%80%80%80%af": http1.ErrTargetUTF8,
		"http://a/../b":       http1.ErrTargetDots,
		"http://a/%00":        http1.ErrTargetControl,
	} {
		t.Run(target, func(t *testing.T) {
			wantRefusal(t, "GET "+target+" HTTP/1.1\r\nHost: a\r\n\r\n", want)
		})
	}
}

// TestRow5TargetsAreForwardedUnchanged checks that a path reaches the backend byte for byte.
// Decisions are based on its canonical form, and protective rules also see its readings. A
// strict farm refuses ambiguous targets.
func TestRow5TargetsAreForwardedUnchanged(t *testing.T) {
	for _, c := range []struct {
		target, canonical string
		readings          string // blank-separated
		ambiguity         *http1.Error
	}{
		{"/", "/", "", nil},
		{"/a/b?c=%2F//;..", "/a/b?c=%2F//;..", "", nil},
		{"//", "/", "", nil},
		{"//a//b/?x", "/a/b/?x", "", nil},
		{"/a/./b/../c", "/a/c", "/a/./b/../c", nil},
		{"/a/.b/c", "/a/.b/c", "", nil},
		{"/a/%2e%2e/b", "/b", "/a/../b", nil},
		{"/%61", "/a", "", nil},
		{"/%c3%a9", "/%C3%A9", "/\u00e9", nil},
		{"/\u00e9?\xff", "/%C3%A9?\xff", "/\u00e9?\xff", nil},
		{"/\xe9", "/%E9", "/\xe9", http1.ErrTargetUTF8},
		{"/a;x", "/a;x", "/a", nil},
		{"/a;x/b;y?q;z", "/a;x/b;y?q;z", "/a/b?q;z", nil},
		{"/;x/a", "/;x/a", "/a", nil},
		{"/a%3Bx/b", "/a%3Bx/b", "/a;x/b /a/b", nil},
		{"/a;x%2fb", "/a;x%2Fb", "/a /a/b", http1.ErrTargetHidden},
		{"/api/queues/%2F/q", "/api/queues/%2F/q", "/api/queues/q", http1.ErrTargetHidden},
		{"/group%2fproject", "/group%2Fproject", "/group/project", http1.ErrTargetHidden},
		{"/a%5Cb", "/a%5Cb", "/a/b", http1.ErrTargetHidden},
		{"/a%252Fb", "/a%252Fb", "/a%2Fb /a/b", http1.ErrTargetDouble},
		{"/%2561", "/%2561", "/%61 /a", http1.ErrTargetDouble},
		{"/%25%36%31", "/%2561", "/%61 /a", http1.ErrTargetDouble},
		{"/%252561", "/%252561", "/%2561 /a", http1.ErrTargetDouble},
		{"/100%25", "/100%25", "/100%", nil},
		{"/a/..%2fb", "/a/..%2Fb", "/b! /a/../b", http1.ErrTargetHidden},
		{"/a/%2e%2e%5cb", "/a/..%5Cb", "/b! /a/../b", http1.ErrTargetHidden},
		{"/a/%252e%252e/b", "/a/%252e%252e/b", "/a/%2e%2e/b /b! /a/../b", http1.ErrTargetDouble},
		{"/a/..;x/b", "/a/..;x/b", "/b! /a/../b", http1.ErrTargetParam},
		{"/a/.;/b", "/a/.;/b", "/a/b /a/./b", http1.ErrTargetParam},
		{"/a/%2e%2e;x", "/a/..;x", "/! /a/..", http1.ErrTargetParam},
		{"/a/..%3Bx/b", "/a/..%3Bx/b", "/a/..;x/b /b! /a/../b", http1.ErrTargetParam},
		{"/a/.%3b/b", "/a/.%3B/b", "/a/.;/b /a/b /a/./b", http1.ErrTargetParam},
		{"/%e9", "/%E9", "/\xe9", http1.ErrTargetUTF8},
		{"/%e9%e9", "/%E9%E9", "/\xe9\xe9", http1.ErrTargetUTF8},
		{"/\xc3%a9", "/%C3%A9", "/\u00e9", nil},
		{"/%f0%9f%8d%b5%ef%bf%bd", "/%F0%9F%8D%B5%EF%BF%BD", "/\U0001f375\ufffd", nil},
		{"/%f0%9f%8d", "/%F0%9F%8D", "/\xf0\x9f\x8d", http1.ErrTargetUTF8},
		{"/a%2fb/../c", "/c", "/a/c /a/b/../c", http1.ErrTargetHidden},
		{"/a%252fb/../c", "/c", "/a/c /a%2fb/../c /a/b/../c", http1.ErrTargetDouble},
		{"/a/b%2fc/../..%2fd", "/a/..%2Fd", "/a/d! /a/b/c/../../d /d! /a/../d", http1.ErrTargetHidden},
		{"/a//../b", "/b", "/a/b /a/../b", nil},
		{"/a/;x/../b", "/a/b", "/b /a/../b", nil},
		{"http://A/x//y", "/x/y", "", nil},
		{"http://a?q", "/?q", "", nil},
	} {
		t.Run(c.target, func(t *testing.T) {
			r := mustParse(t, "GET "+c.target+" HTTP/1.1\r\nHost: a\r\n\r\n")
			var readings []string
			for _, rd := range r.Readings {
				mark := ""
				if rd.Climbs {
					mark = "!"
				}
				readings = append(readings, string(rd.Target)+mark)
				if path, _, _ := strings.Cut(string(rd.Target), "?"); rd.Path != len(path) {
					t.Errorf("reading %q has a path of %d bytes", rd.Target, rd.Path)
				}
			}
			sent := c.target
			switch c.target {
			case "http://A/x//y":
				sent = "/x//y"
			case "http://a?q":
				sent = "/?q"
			}
			got := string(http1.AppendRequest(nil, r, forward))
			if string(r.Path) != c.canonical || strings.Join(readings, " ") != c.readings || r.Ambiguity != c.ambiguity ||
				string(r.Sent) != sent || !strings.HasPrefix(got, "GET "+sent+" HTTP/1.1\r\n") {
				t.Errorf("canonical %q, readings %q, sent %q, ambiguity %v, head %.60q", r.Path, readings, r.Sent, r.Ambiguity, got)
			}
			if err := r.SendCanonical(); err != nil {
				t.Error(err)
			}
			if got := string(http1.AppendRequest(nil, r, forward)); !strings.HasPrefix(got, "GET "+c.canonical+" HTTP/1.1\r\n") {
				t.Errorf("canonical head %.60q", got)
			}
		})
	}
}

func TestRow5CanonicalTargets(t *testing.T) {
	for target, want := range map[string]string{
		"/":                       "/",
		"/a/b.html?x=y&z":         "/a/b.html?x=y&z",
		"//":                      "/",
		"//a///b//":               "/a/b/",
		"/.":                      "/",
		"/./":                     "/",
		"/a/.":                    "/a/",
		"/a/..":                   "/",
		"/a/../":                  "/",
		"/a/b/..":                 "/a/",
		"/a/./b/../c":             "/a/c",
		"/a//../b":                "/b",
		"/a/b/../../c/..":         "/",
		"/.well-known/x":          "/.well-known/x",
		"/...":                    "/...",
		"/..a/.b./c..":            "/..a/.b./c..",
		"/a/%2e%2e/b":             "/b",
		"/a/.%2E/b":               "/b",
		"/%41%7a%30%2d%5f%7e":     "/Az0-_~",
		"/%c3%a9":                 "/%C3%A9",
		"/\u00e9\u20ac\U0001f600": "/%C3%A9%E2%82%AC%F0%9F%98%80",
		"/%E9":                    "/%E9",
		"/%e9t%e9":                "/%E9t%E9",
		"/%20%23%3f%25":           "/%20%23%3F%25",
		"/100%25":                 "/100%25",
		"/100%25zz":               "/100%25zz",
		"/%254":                   "/%254",
		"/%254g":                  "/%254g",
		"/%25g4":                  "/%25g4",
		"/%c0%20":                 "/%C0%20",
		"/%c2%a9":                 "/%C2%A9",
		"/%e0%a0%80":              "/%E0%A0%80",
		"/%e1%80%80":              "/%E1%80%80",
		"/%f0%90%80%80":           "/%F0%90%80%80",
		"/%f1%80%80%80":           "/%F1%80%80%80",
		"/%f7%80%80%80":           "/%F7%80%80%80",
		"/a;x=1/b;y":              "/a;x=1/b;y",
		"/a\"<>^`{|}b":            "/a\"<>^`{|}b",
		"/a?b/../c//d%2f%zz\\?":   "/a?b/../c//d%2f%zz\\?",
		"//a?\xff":                "/a?\xff",
		"/A/b":                    "/A/b",
		"http://a":                "/",
		"HTTP://A":                "/",
		"http://a?x":              "/?x",
		"http://a/x//y":           "/x/y",
		"https://a./x":            "/x",
		"/?":                      "/?",
		"/a?/..":                  "/a?/..",
		"/:@!$&'()*+,=":           "/:@!$&'()*+,=",
	} {
		t.Run(target, func(t *testing.T) {
			r := mustParse(t, "GET "+target+" HTTP/1.1\r\nHost: a\r\n\r\n")
			if string(r.Path) != want {
				t.Errorf("path %q, want %q", r.Path, want)
			}
			again := mustParse(t, "GET "+want+" HTTP/1.1\r\nHost: a\r\n\r\n")
			if string(again.Path) != want {
				t.Errorf("path %q of canonical %q", again.Path, want)
			}
			r.SendCanonical()
			sent := http1.AppendRequest(nil, r, forward)
			if !strings.HasPrefix(string(sent), "GET "+want+" HTTP/1.1\r\n") {
				t.Errorf("sent %q", sent)
			}
		})
	}
}

func TestRow5CanonicalHosts(t *testing.T) {
	for host, want := range map[string]string{
		"a":                       "a",
		"Example.COM":             "example.com",
		"example.com:8080":        "example.com:8080",
		"EXAMPLE.com:0":           "example.com:0",
		"example.com.":            "example.com",
		"Example.com.:65535":      "example.com:65535",
		"example.com:":            "example.com",
		"my_host-1":               "my_host-1",
		"192.0.2.1:80":            "192.0.2.1:80",
		"[::1]":                   "[::1]",
		"[::]:80":                 "[::]:80",
		"[2001:DB8::A]:80":        "[2001:db8::a]:80",
		"[1:2:3:4:5:6:7:8]":       "[1:2:3:4:5:6:7:8]",
		"[::ffff:192.0.2.1]":      "[::ffff:192.0.2.1]",
		"[1::]":                   "[1::]",
		strings.Repeat("A", 255):  strings.Repeat("a", 255),
		strings.Repeat("ab.", 85): strings.Repeat("ab.", 84) + "ab",
	} {
		t.Run(host, func(t *testing.T) {
			r := mustParse(t, "GET / HTTP/1.1\r\nhost:  "+host+"\t\r\n\r\n")
			if string(r.Host) != want {
				t.Errorf("host %q, want %q", r.Host, want)
			}
			for _, form := range []string{host, want} { // as sent, then canonical
				sent := string(http1.AppendRequest(nil, r, forward))
				if !strings.HasPrefix(sent, "GET / HTTP/1.1\r\nHost: "+form+"\r\n") || strings.Contains(sent, "\r\nhost:") {
					t.Errorf("sent %q", sent)
				}
				if err := r.SendCanonical(); err != nil {
					t.Error(err)
				}
			}
			mustParse(t, "GET http://"+host+"/ HTTP/1.1\r\nHost: "+want+"\r\n\r\n")
		})
	}
}

func TestRow6ForgedIdentityIsStripped(t *testing.T) {
	for _, name := range []string{
		"X-Forwarded-For", "x-forwarded-host", "X-FORWARDED-PROTO", "X-Forwarded-Port", "X-Forwarded-Prefix",
		"X-Forwarded-Ssl", "X-Forwarded-", "Forwarded", "X-Real-IP", "X-SSL-Client-Cert", "X-Ssl-Subject",
		"X_Forwarded_For", "X-Forwarded_For", "x_real_ip", "X_SSL_Client", "X.Forwarded.For", "X~Real~IP",
		"Content_Length", "Transfer_Encoding", "Transfer.Encoding", "X_Forwarded_" + strings.Repeat("a", 100),
		"X-Forwarded-" + strings.Repeat("a", 100),
		"Proxy", "Proxy-Connection", "Proxy-Authorization", "Keep-Alive", "TE", "Trailer", "HTTP2-Settings",
	} {
		for _, connection := range []string{"", "Connection: " + name + "\r\n", "Connection: X-Forwarded-For, Forwarded, Host\r\n"} {
			r := mustParse(t, "GET / HTTP/1.1\r\nHost: a\r\n"+connection+name+": 6.6.6.6\r\nAccept: */*\r\n\r\n")
			const want = "GET / HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n" +
				"X-Forwarded-For: 192.0.2.17\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: a\r\n" +
				"Forwarded: for=192.0.2.17;host=\"a\";proto=http\r\n\r\n"
			if sent := string(http1.AppendRequest(nil, r, forward)); sent != want {
				t.Errorf("%s with %q: sent\n%s", name, connection, sent)
			}
		}
	}
}

func TestRow6ConnectionCannotRemoveOurFields(t *testing.T) {
	r := mustParse(t, lf("POST / HTTP/1.1\nHost: a\nConnection: Host, Content-Length, Expect , X-Mine,,close\n"+
		"Content-Length: 5\nExpect: 100-continue\nx-mine: 1\nX-Mine-Too: 2\n\n"))
	sent := string(http1.AppendRequest(nil, r, &http1.Forward{Proto: []byte("https")}))
	want := lf("POST / HTTP/1.1\nHost: a\nExpect: 100-continue\nX-Mine-Too: 2\nX-Forwarded-Proto: https\n" +
		"X-Forwarded-Host: a\nForwarded: for=unknown;host=\"a\";proto=https\nContent-Length: 5\n\n")
	if sent != want {
		t.Errorf("sent\n%s", sent)
	}
	if r.KeepAlive {
		t.Error("Connection: close was not seen")
	}
}

func TestRow7LimitsActBeforeTheBufferIsFull(t *testing.T) {
	long := strings.Repeat("a", http1.MaxTarget)
	fields := strings.Repeat("A: b\r\n", http1.MaxFields)
	for name, c := range map[string]bad{
		"target one too long":       {"GET /" + long + " HTTP/1.1\r\nHost: a\r\n\r\n", http1.ErrTargetTooLong},
		"target without end":        {"GET /" + strings.Repeat(long, 64), http1.ErrTargetTooLong},
		"query without end":         {"GET /?" + strings.Repeat(long, 2), http1.ErrTargetTooLong},
		"canonical target too long": {"GET /" + strings.Repeat("\u00e9", 4000) + " HTTP/1.1\r\nHost: a\r\n\r\n", http1.ErrTargetTooLong},
		"canonical query too long":  {"GET /" + strings.Repeat("\u00e9", 2000) + "?" + long[:5000] + " HTTP/1.1\r\nHost: a\r\n\r\n", http1.ErrTargetTooLong},
		"one field too many":        {"GET / HTTP/1.1\r\nHost: a\r\n" + fields + "\r\n", http1.ErrTooManyFields},
		"fields without end":        {"GET / HTTP/1.1\r\n" + strings.Repeat(fields, 80), http1.ErrTooManyFields},
		"1,000 cookies":             {"GET / HTTP/1.1\r\n" + strings.Repeat("Cookie: a=b\r\n", 1000), http1.ErrTooManyFields},
		"value without end":         {"GET / HTTP/1.1\r\nA: " + strings.Repeat(long, 5), http1.ErrHeadTooLong},
		"name without end":          {"GET / HTTP/1.1\r\n" + strings.Repeat(long, 5), http1.ErrHeadTooLong},
		"blanks without end":        {"GET / HTTP/1.1\r\nA:" + strings.Repeat(" ", http1.MaxHead), http1.ErrHeadTooLong},
		"version without end":       {"GET / " + long, http1.ErrVersion},
	} {
		t.Run(name, func(t *testing.T) { wantRefusal(t, c.head, c.want) })
	}
	for err, status := range map[*http1.Error]int{http1.ErrTargetTooLong: 414, http1.ErrHeadTooLong: 431, http1.ErrTooManyFields: 431} {
		if err.Status != status {
			t.Errorf("%v: status %d, want %d", err, err.Status, status)
		}
	}
}

func TestRow7TheLargestHeadsPass(t *testing.T) {
	mustParse(t, "GET /"+strings.Repeat("a", http1.MaxTarget-1)+" HTTP/1.1\r\nHost: a\r\n\r\n")
	mustParse(t, "\r\n"+strings.Repeat("A", http1.MaxMethod)+" /"+strings.Repeat("a", http1.MaxTarget-1)+" HTTP/1.1\r\nHost: a\r\n\r\n")
	mustParse(t, "GET / HTTP/1.1\r\nHost: a\r\n"+strings.Repeat("A: b\r\n", http1.MaxFields-1)+"\r\n")
	frame := "GET / HTTP/1.1\r\nHost: a\r\nA: \r\n\r\n"
	exact := strings.Replace(frame, "A: ", "A: "+strings.Repeat("v", http1.MaxHead-len(frame)), 1)
	if r := mustParse(t, exact+"body"); r.Len != http1.MaxHead {
		t.Errorf("length %d, want %d", r.Len, http1.MaxHead)
	}
	wantRefusal(t, strings.Replace(exact, "v", "vv", 1), http1.ErrHeadTooLong)
}

func TestRow7ManyQueryParametersAreLinear(t *testing.T) {
	r := mustParse(t, "GET /?"+strings.Repeat("a&", 8000)+" HTTP/1.1\r\nHost: a\r\n\r\n")
	if len(r.Path) != 16002 {
		t.Errorf("path of %d bytes", len(r.Path))
	}
}

// Deviations with a single reading, which backend_leniency accepts, are in leniency_test.go.
func TestRow9BadResponsesAreRefused(t *testing.T) {
	ok := func(fields string) string { return "HTTP/1.1 200 OK\r\n" + fields + "\r\n\r\n" }
	for name, c := range map[string]bad{
		"endless head":         {"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", http1.MaxHead), http1.ErrHeadTooLong},
		"endless reason":       {"HTTP/1.1 200 " + strings.Repeat("a", http1.MaxHead), http1.ErrHeadTooLong},
		"10,000 fields":        {ok(strings.Repeat("A: b\r\n", 10000)), http1.ErrTooManyFields},
		"length with coding":   {ok("Content-Length: 5\r\nTransfer-Encoding: chunked"), http1.ErrCodingLength},
		"two lengths":          {ok("Content-Length: 5\r\nContent-Length: 6"), http1.ErrLengthRepeated},
		"list of lengths":      {ok("Content-Length: 5, 6"), http1.ErrLength},
		"5 and 05":             {ok("Content-Length: 5\r\nContent-Length: 05"), http1.ErrLengthRepeated},
		"list with a gap":      {ok("Content-Length: 5,,5"), http1.ErrLength},
		"list and another":     {ok("Content-Length: 5, 5\r\nContent-Length: 6"), http1.ErrLengthRepeated},
		"not a length, twice":  {ok("Content-Length: x, x"), http1.ErrLength},
		"same lengths, coding": {ok("Content-Length: 5, 5\r\nTransfer-Encoding: chunked"), http1.ErrCodingLength},
		"negative length":      {ok("Content-Length: -1"), http1.ErrLength},
		"unknown coding":       {ok("Transfer-Encoding: gzip, chunked"), http1.ErrCodingUnknown},
		"coding in HTTP/1.0":   {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", http1.ErrCodingVersion},
		"folded first line":    {"HTTP/1.1 200 OK\r\n A: b\r\n\r\n", http1.ErrFold},
		"NUL in a folded line": {ok("A: b\r\n \x00"), http1.ErrFieldValue},
		"bare LF in a fold":    {ok("A: b\n c"), http1.ErrLineEnd},
		"a folded length":      {ok("Content-Length: 1\r\n 0"), http1.ErrLength},
		"NUL in value":         {ok("A: \x00"), http1.ErrFieldValue},
		"bare CR in reason":    {"HTTP/1.1 200 O\rK\r\n\r\n", http1.ErrLineEnd},
		"status 099":           {"HTTP/1.1 099 OK\r\n\r\n", http1.ErrStatusLine},
		"status 20":            {"HTTP/1.1 20 OK\r\n\r\n", http1.ErrStatusLine},
		"status 2000":          {"HTTP/1.1 2000 OK\r\n\r\n", http1.ErrStatusLine},
		"status +20":           {"HTTP/1.1 +20 OK\r\n\r\n", http1.ErrStatusLine},
		"version 0.9":          {"HTTP/0.9 200 OK\r\n\r\n", http1.ErrStatusVersion},
		"version 2, no more":   {"HTTP/2.0 ", http1.ErrStatusVersion},
		"version 1.2, no more": {"HTTP/1.2 ", http1.ErrStatusVersion},
		"no version":           {"200 OK\r\n\r\n", http1.ErrStatusLine},
		"HTTP/0.9":             {"<html>hello</html>", http1.ErrStatusLine},
		"empty line before":    {"\r\nHTTP/1.1 200 OK\r\n\r\n", http1.ErrStatusLine},
		"shoutcast":            {"ICY 200 OK\r\n\r\n", http1.ErrStatusLine},
	} {
		t.Run(name, func(t *testing.T) {
			for _, step := range []int{len(c.head), len(c.head)/64 + 1} {
				r := new(http1.Response)
				n, err := parseSplit(r, c.head, step)
				if n != 0 && err == nil {
					_, err = r.Body(false) // _, err = r.Body(false) // checks the framing
				} else if n != 0 {
					t.Errorf("steps of %d: %d, %v", step, n, err)
				}
				if err != c.want {
					t.Errorf("steps of %d: %v, want %v", step, err, c.want)
				}
			}
		})
	}
}

// contradictions are framing fields that parsers may interpret differently.
var contradictions = []string{
	"Content-Length: 5\nTransfer-Encoding: chunked", "Content-Length: 5\nContent-Length: 6", "Content-Length: x",
	"Content-Length: -1", "Transfer-Encoding: gzip", "Transfer-Encoding: chunked\nTransfer-Encoding: chunked",
}

// Responses without a body by definition end with their head, whatever their fields say (RFC
// 9112 section 6.3). The client gets only unambiguous framing.
func TestRow9ResponsesWithoutABodyEndWithTheirHead(t *testing.T) {
	const plain = "Content-Length: 5"
	for _, c := range []struct {
		status, framing   string
		head, contradicts bool
		want              string // expected framing in the output for the client
	}{
		{"100", plain, false, true, ""}, {"101", plain, false, true, ""}, {"199", "Transfer-Encoding: chunked", false, true, ""},
		{"204", plain, false, true, ""}, {"204", "Transfer-Encoding: chunked", false, true, ""}, {"204", plain, true, true, ""},
		{"204", "Content-Length: 0", false, false, ""},
		{"304", plain, false, false, plain + "\n"}, {"304", "Transfer-Encoding: chunked", false, true, "Transfer-Encoding: chunked\n"},
		{"200", plain, true, false, plain + "\n"}, {"200", "Transfer-Encoding: chunked", true, false, "Transfer-Encoding: chunked\n"},
		{"404", "Content-Length: 5, 5", true, false, plain + "\n"},
	} {
		checkBodyless(t, "HTTP/1.1 "+c.status+" X\n", c.framing, c.head, c.contradicts, c.want)
	}
	for _, framing := range contradictions {
		for _, status := range []string{"100", "103", "204", "304"} {
			checkBodyless(t, "HTTP/1.1 "+status+" X\n", framing, false, true, "")
		}
		checkBodyless(t, "HTTP/1.1 200 X\n", framing, true, true, "")
	}
	for _, status := range []string{"204", "304"} {
		checkBodyless(t, "HTTP/1.0 "+status+" X\n", "Transfer-Encoding: chunked", false, true, "")
	}
}

func checkBodyless(t *testing.T, line, framing string, head, contradicts bool, want string) {
	t.Helper()
	r := mustParseResponse(t, lf(line+framing+"\n\n"))
	if kind, err := r.Body(head); kind != http1.BodyNone || err != nil {
		t.Errorf("%s%s: body %v, %v, want %v", line, framing, kind, err, http1.BodyNone)
	}
	if got := r.Contradicts(head); got != contradicts {
		t.Errorf("%s%s: contradicts %v, want %v", line, framing, got, contradicts)
	}
	status := strings.Replace(line, "1.0", "1.1", 1)
	if got := string(http1.AppendResponse(nil, r, &http1.ResponseOptions{})); got != lf(status+want+"\n") {
		t.Errorf("%s%s: the client gets %q", line, framing, got)
	}
}

func TestResponseWithABodyNeverContradictsItself(t *testing.T) {
	for _, framing := range append(contradictions, "Content-Length: 5", "Transfer-Encoding: chunked") {
		if r := mustParseResponse(t, lf("HTTP/1.1 200 OK\n"+framing+"\n\n")); r.Contradicts(false) {
			t.Error(framing)
		}
	}
}

func TestRow10ValuesCannotBreakOutOfTheirLine(t *testing.T) {
	for _, bad := range []string{"a\r\nSet-Cookie: x", "a\n", "\r", "a\x00", "a\x7f", "a\x1b"} {
		if _, ok := http1.CheckValue([]byte(bad)); ok {
			t.Errorf("%q is accepted as a value", bad)
		}
	}
	v, ok := http1.CheckValue([]byte("http://a/b\tc\xe9"))
	if !ok {
		t.Fatal("a good value is refused")
	}
	if got := string(http1.AppendField(nil, "Location", v)); got != "Location: http://a/b\tc\xe9\r\n" {
		t.Errorf("got %q, want %q", got, "Location: http://a/b\tc\xe9\r\n")
	}
}

// Both readings of dot segments are marked. A backend that gets the canonical path sees none.
func TestReadingsWithDotsAreMarked(t *testing.T) {
	r := mustParse(t, "GET /%2561dmin/../x;y HTTP/1.1\r\nHost: a\r\n\r\n")
	marks := func() (list []string) {
		for _, rd := range r.Readings {
			list = append(list, fmt.Sprint(string(rd.Target), " ", rd.Dots))
		}
		return list
	}
	if got := fmt.Sprintf("%q", marks()); got != `["/x false" "/%61dmin/../x true" "/admin/../x true"]` {
		t.Error(got)
	}
	if err := r.SendCanonical(); err != nil || fmt.Sprintf("%q", marks()) != `["/x false"]` {
		t.Errorf("with the canonical path: %q, %v", marks(), err)
	}
	r = mustParse(t, "GET /y/../admin%2f..%2fx HTTP/1.1\r\nHost: a\r\n\r\n")
	if err := r.SendCanonical(); err != nil || fmt.Sprintf("%q", marks()) != `["/x false" "/admin/../x true"]` {
		t.Errorf("a canonical path with dot segments when decoded: %q, %v", marks(), err)
	}
}
