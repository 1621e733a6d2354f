package http1_test

import (
	"strings"
	"testing"

	"github.com/sluicelb/sluice/l7/http1"
)

// Deviations of responses in comparison with HAProxy 2.6, with and without "option
// accept-invalid-http-response", and nginx 1.22, which forward (+) or reject (-) the
// response. Sluice accepts each with its own leniency only, whole or in pieces. If both
// others forward a response and the row has no leniency, the response is ambiguous.
var deviations = []struct {
	name, head, chunks string
	others             string // HAProxy, HAProxy with the option, nginx: + or -
	accepts            http1.Leniency
	why                *http1.Error // error without it
	written            string       // output with it: head and chunks
}{
	{"chunked in a list", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked", "2\r\nok\r\n0\r\n\r\n", "--+",
		http1.LenientCoding, http1.ErrCodingRepeated, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
	{"chunked in two lines", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\ntransfer-encoding: Chunked", "2\r\nok\r\n0\r\n\r\n", "--+",
		http1.LenientCoding, http1.ErrCodingRepeated, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
	{"chunked before a comma", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked,", "0\r\n\r\n", "+++",
		http1.LenientCoding, http1.ErrCodingRepeated, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
	{"chunked after a comma", "HTTP/1.1 200 OK\r\nTransfer-Encoding: ,chunked", "0\r\n\r\n", "--+",
		http1.LenientCoding, http1.ErrCodingRepeated, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
	{"identity", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity", "", "--+",
		http1.LenientIdentity, http1.ErrCodingIdentity, "HTTP/1.1 200 OK\r\n\r\n"},
	{"identity, chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity, chunked", "0\r\n\r\n", "--+",
		http1.LenientIdentity, http1.ErrCodingIdentity, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
	{"blanks after a chunk size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", "2 \t\r\nok\r\n0  \r\n\r\n", "+++",
		http1.LenientChunkSize, http1.ErrChunkForm, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
	{"zeros before a chunk size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", "00000000000000000002\r\nok\r\n00000000000000000000\r\n\r\n", "+++",
		http1.LenientChunkSize, http1.ErrChunkForm, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n02\r\nok\r\n0\r\n\r\n"},
	{"status 600", "HTTP/1.1 600 X", "", "+++", http1.LenientStatus, http1.ErrStatusRange, "HTTP/1.1 600 X\r\n\r\n"},
	{"status 999", "HTTP/1.1 999", "", "+++", http1.LenientStatus, http1.ErrStatusRange, "HTTP/1.1 999 \r\n\r\n"},
	{"two blanks", "HTTP/1.1  200  OK", "", "+++", http1.LenientStatusLine, http1.ErrStatusForm, "HTTP/1.1 200  OK\r\n\r\n"},
	{"tabs", "HTTP/1.0\t200\tOK\r\nA: b", "", "++-", http1.LenientStatusLine, http1.ErrStatusForm, "HTTP/1.1 200 OK\r\nA: b\r\n\r\n"},
	{"HTTP/1.2", "HTTP/1.2 200 OK", "", "+++", http1.LenientStatusLine, http1.ErrStatusForm, "HTTP/1.1 200 OK\r\n\r\n"},
	{"HTTP/2.0", "HTTP/2.0 200 OK", "", "+++", http1.LenientStatusLine, http1.ErrStatusForm, "HTTP/1.1 200 OK\r\n\r\n"},
	{"control byte in the reason", "HTTP/1.1 200 O\x01K", "", "+++", http1.LenientStatusLine, http1.ErrStatusForm, "HTTP/1.1 200 O K\r\n\r\n"},
	{"LF", "HTTP/1.1 200 OK\nA: b\n c\nDate: d", "", "+++", http1.LenientLineEnd, http1.ErrBareHead, "HTTP/1.1 200 OK\r\nA: b c  \r\nDate: d\r\n\r\n"},
	{"blank before the colon", "HTTP/1.1 200 OK\r\nA \t: b\r\nDate: d", "", "-+-", http1.LenientNameBlank, http1.ErrNameBlank, "HTTP/1.1 200 OK\r\nA:\t  b\r\nDate: d\r\n\r\n"},
	{"bytes of no token", "HTTP/1.1 200 OK\r\nDate: d\r\nA(b)\xc3\xa9/: c\r\nServer: s", "", "-++", http1.LenientNameByte, http1.ErrNameByte, "HTTP/1.1 200 OK\r\nDate: d\r\nServer: s\r\n\r\n"},
	{"control bytes", "HTTP/1.1 200 OK\r\nA: b\x01c\x1b\x7f\r\nDate: d", "", "+++", http1.LenientControl, http1.ErrControl, "HTTP/1.1 200 OK\r\nA: b c  \r\nDate: d\r\n\r\n"},
	{"control bytes in a folded line", "HTTP/1.1 200 OK\r\nA: b\r\n c\x01d", "", "++-", http1.LenientControl, http1.ErrControl, "HTTP/1.1 200 OK\r\nA: b c d  \r\n\r\n"},
	{"option that is no token", "HTTP/1.1 200 OK\r\nConnection: keep-alive;x", "", "+++", http1.LenientConnection, http1.ErrConnectionForm, "HTTP/1.1 200 OK\r\n\r\n"},

	{"gzip, chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked", "0\r\n\r\n", "--+", 0, http1.ErrCodingUnknown, ""},
	{"chunked, identity", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity", "0\r\n\r\n", "", 0, http1.ErrCoding, ""},
	{"identity with a length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2", "", "--+", 0, http1.ErrCodingLength, ""},
	{"chunked with a length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2", "", "+++", 0, http1.ErrCodingLength, ""},
	{"chunked in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked", "", "+++", 0, http1.ErrCodingVersion, ""},
	{"quoted chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: \"chunked\"", "", "--+", 0, http1.ErrCoding, ""},
	{"blank before a chunk size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", " 2\r\nok\r\n0\r\n\r\n", "---", 0, http1.ErrChunkSize, ""},
	{"0x", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", "0x2\r\nok\r\n0\r\n\r\n", "---", 0, http1.ErrChunkSize, ""},
	{"blank within a chunk size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", "1 2\r\nok\r\n0\r\n\r\n", "", 0, http1.ErrChunkSize, ""},
	{"LF after a chunk size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", "2\nok\r\n0\r\n\r\n", "+++", 0, http1.ErrChunkSize, ""},
	{"LF within an extension", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", "2;a\nok\r\n0\r\n\r\n", "+++", 0, http1.ErrChunkExtension, ""},
	{"LF after a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", "2\r\nok\n0\r\n\r\n", "+++", 0, http1.ErrChunkEnd, ""},
	{"status 099", "HTTP/1.1 099 X", "", "+++", 0, http1.ErrStatusLine, ""},
	{"status of four digits", "HTTP/1.1 2000 X", "", "++-", 0, http1.ErrStatusLine, ""},
	{"status of two digits", "HTTP/1.1 20 X", "", "++-", 0, http1.ErrStatusLine, ""},
	{"NUL in the reason", "HTTP/1.1 200 O\x00K", "", "", 0, http1.ErrFieldValue, ""},
	{"lower case", "http/1.1 200 OK", "", "---", 0, http1.ErrStatusLine, ""},
	{"HTTP/0.9", "HTTP/0.9 200 OK", "", "", 0, http1.ErrStatusVersion, ""},
	{"LF after the status line alone", "HTTP/1.1 200 OK\nA: b\r\nC: d", "", "+++", 0, http1.ErrMixedEnds, ""},
	{"LF after a field alone", "HTTP/1.1 200 OK\r\nA: b\nC: d", "", "+++", 0, http1.ErrLineEnd, ""},
	{"CR within a field", "HTTP/1.1 200 OK\r\nA: b\rC: d", "", "---", 0, http1.ErrLineEnd, ""},
	{"blank after Content-Length", "HTTP/1.1 200 OK\r\nContent-Length : 2", "", "-+-", 0, http1.ErrFieldName, ""},
	{"blank after Transfer-Encoding", "HTTP/1.1 200 OK\r\nTransfer-Encoding\t: chunked", "", "-+-", 0, http1.ErrFieldName, ""},
	{"nearly Content-Length", "HTTP/1.1 200 OK\r\nContent-Length\xa0: 2", "", "", 0, http1.ErrFieldName, ""},
	{"nearly Transfer-Encoding", "HTTP/1.1 200 OK\r\n\"Transfer_Encoding\": chunked", "", "", 0, http1.ErrFieldName, ""},
	{"blank within a name", "HTTP/1.1 200 OK\r\nA b: c", "", "-+-", 0, http1.ErrFieldName, ""},
	{"no name", "HTTP/1.1 200 OK\r\n: c", "", "---", 0, http1.ErrFieldName, ""},
	{"no colon", "HTTP/1.1 200 OK\r\ngarbage", "", "--+", 0, http1.ErrFieldName, ""},
	{"NUL in a value", "HTTP/1.1 200 OK\r\nA: b\x00c", "", "++-", 0, http1.ErrFieldValue, ""},
	{"control byte in Content-Length", "HTTP/1.1 200 OK\r\nContent-Length: 2\x01", "", "---", 0, http1.ErrFieldValue, ""},
	{"control byte in Transfer-Encoding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: \x0bchunked", "", "", 0, http1.ErrFieldValue, ""},
	{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3", "", "--+", 0, http1.ErrLengthRepeated, ""},
	{"sign before a length", "HTTP/1.1 200 OK\r\nContent-Length: +2", "", "---", 0, http1.ErrLength, ""},
}

const every = ^http1.Leniency(0)

// whole returns the bytes of the response.
func whole(head, chunks string) string {
	if strings.Contains(head, "\r\n") || !strings.Contains(head, "\n") {
		return head + "\r\n\r\n" + chunks
	}
	return head + "\n\n" + chunks
}

// readResponse parses a response in steps and returns the output for clients.
func readResponse(says string, step int, l http1.Leniency) (string, error) {
	r := new(http1.Response)
	r.Allow(l)
	b := make([]byte, 0, len(says))
	n := 0
	for n == 0 && len(b) < len(says) {
		b = append(b, says[len(b):min(len(b)+step, len(says))]...)
		var err error
		if n, err = r.Parse(b); err != nil {
			return "", err
		}
	}
	if n == 0 {
		return "", http1.ErrHeadTooLong // more follows
	}
	kind, err := r.Body(false)
	if err != nil {
		return "", err
	}
	out := http1.AppendResponse(nil, r, &http1.ResponseOptions{})
	if kind != http1.BodyChunked {
		return string(out), nil
	}
	var c http1.Chunked
	c.Reset(true)
	c.FromBackend(r.Allowed())
	body := feed(&c, says[n:], false, func() int { return step })
	if body.err == nil && !body.done {
		return "", http1.ErrChunkEnd
	}
	return string(out) + body.out, body.err
}

func TestEachDeviationNeedsItsLeniency(t *testing.T) {
	for _, c := range deviations {
		t.Run(c.name, func(t *testing.T) {
			says := whole(c.head, c.chunks)
			for step := 1; step <= len(says); step++ {
				if _, err := readResponse(says, step, 0); err == nil {
					t.Fatalf("steps of %d: accepted without leniency", step)
				}
				got, err := readResponse(says, step, every&^c.accepts)
				if err != error(c.why) && !(c.accepts == 0 && err != nil && step < len(says)) {
					t.Fatalf("steps of %d: %q, %v without its own leniency, want %v", step, got, err, c.why)
				}
				if c.accepts == 0 {
					continue
				}
				if got, err = readResponse(says, step, c.accepts); err != nil || got != c.written {
					t.Fatalf("steps of %d: %q, %v, want %q", step, got, err, c.written)
				}
			}
			if _, err := readResponse(says, len(says), 0); err != error(c.why) && c.accepts != 0 {
				t.Errorf("without leniency: %v, want %v", err, c.why)
			}
		})
	}
}

func TestDeviationsAddUp(t *testing.T) {
	const says = "HTTP/2.0 \t777 Odd\x02\nA : b\x03\nB(: c\nTransfer-Encoding: identity,chunked\nTransfer-Encoding: chunked,\n\n0002 \r\nok\r\n000\r\n\r\n"
	const want = "HTTP/1.1 777 Odd \r\nA:  b \r\nTransfer-Encoding: chunked\r\n\r\n02\r\nok\r\n0\r\n\r\n"
	for step := 1; step <= len(says); step++ {
		if got, err := readResponse(says, step, every); err != nil || got != want {
			t.Fatalf("steps of %d: %q, %v, want %q", step, got, err, want)
		}
	}
}

func TestRequestsHaveNoLeniency(t *testing.T) {
	for _, field := range []string{"A : b", "A(b: c", "A: b\x01", "Transfer-Encoding: chunked, chunked"} {
		r := new(http1.Request)
		if _, err := r.Parse([]byte("GET / HTTP/1.1\r\nHost: a\r\n" + field + "\r\n\r\n")); err == nil {
			t.Errorf("%q is accepted", field)
		}
	}
}

func TestALongHeadWithLFIsBounded(t *testing.T) {
	says := "HTTP/1.1 200 OK\n" + strings.Repeat("A: b\n", http1.MaxFields+1) + "\n"
	if _, err := readResponse(says, len(says), every); err != error(http1.ErrTooManyFields) {
		t.Errorf("many lines: %v", err)
	}
	says = "HTTP/1.1 200 OK\nA: " + strings.Repeat("b", http1.MaxHead) + "\n\n"
	if _, err := readResponse(says, len(says), every); err != error(http1.ErrHeadTooLong) {
		t.Errorf("a long line: %v", err)
	}
}

// FuzzLenientResponse checks that the output is in correct form regardless of accepted
// deviations, and has the framing that was parsed.
func FuzzLenientResponse(f *testing.F) {
	for _, c := range deviations {
		f.Add(whole(c.head, c.chunks))
	}
	f.Fuzz(func(t *testing.T, says string) {
		for _, step := range []int{max(1, len(says)), 7} {
			got, err := readResponse(says, step, every)
			if err != nil || got == "" {
				continue
			}
			again, err := readResponse(got, len(got), http1.LenientStatus)
			if err != nil || again != got {
				t.Fatalf("%q is written %q, which reads %q, %v", says, got, again, err)
			}
		}
	})
}
