package table

import (
	"bytes"
	"strconv"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/l7/http1"
)

// Answers holds the bodies of the responses that a farm generates itself, by status. The 414
// text of the Zevenet family is about the whole head, so it is also used for 431. 403 is the
// response of the WAF.
type Answers struct {
	texts map[int]string
}

func newAnswers(h *farm.HTTP) Answers {
	a := Answers{texts: map[int]string{}}
	for status, text := range map[int]string{
		403: h.ErrorWAF, 414: h.Error414, 431: h.Error414, 500: h.Error500, 501: h.Error501, 503: h.Error503,
	} {
		if text != "" {
			a.texts[status] = text
		}
	}
	return a
}

// reasons holds the reason phrases of generated responses (RFC 9110 section 15).
var reasons = map[int]string{
	200: "OK",
	301: "Moved Permanently",
	302: "Found",
	307: "Temporary Redirect",
	400: "Bad Request",
	401: "Unauthorized",
	403: "Forbidden",
	405: "Method Not Allowed",
	408: "Request Timeout",
	413: "Content Too Large",
	414: "URI Too Long",
	415: "Unsupported Media Type",
	417: "Expectation Failed",
	421: "Misdirected Request",
	429: "Too Many Requests",
	431: "Request Header Fields Too Large",
	500: "Internal Server Error",
	501: "Not Implemented",
	502: "Bad Gateway",
	503: "Service Unavailable",
	504: "Gateway Timeout",
	505: "HTTP Version Not Supported",
}

// texts holds the default bodies. They state the problem without revealing details of the
// appliance.
var texts = map[int]string{
	400: "The request is not valid HTTP.\n",
	401: "Access is for those who can identify themselves.\n",
	403: "The request was refused.\n",
	405: "This method is not allowed here.\n",
	408: "The request did not arrive in time.\n",
	413: "The body of the request is too large.\n",
	414: "The address of the request is too long.\n",
	417: "The expectation of the request cannot be met.\n",
	421: "This connection is not for the host of the request.\n",
	429: "There were too many requests. Please try again later.\n",
	431: "The header of the request is too large.\n",
	500: "An internal error occurred. Please try again later.\n",
	501: "This method, or the coding of the body, is not supported.\n",
	502: "The server behind this address gave no valid answer.\n",
	503: "The service is not available. Please try again later.\n",
	504: "The server behind this address did not answer in time.\n",
	505: "This version of HTTP is not supported.\n",
}

// Append appends a complete response with the given status. head omits the body, for
// requests with HEAD. close announces the end of the connection.
func (a *Answers) Append(dst []byte, status int, head, close bool) []byte {
	return a.AppendWith(dst, status, nil, head, close)
}

// AppendWith is Append with additional field lines.
func (a *Answers) AppendWith(dst []byte, status int, lines []byte, head, close bool) []byte {
	text, ok := a.texts[status]
	if !ok {
		text = texts[status]
	}
	dst = AppendStatus(dst, status)
	dst = append(dst, "Content-Type: "...)
	dst = append(dst, contentType(text)...)
	dst = append(dst, "\r\nCache-Control: no-cache\r\n"...)
	if status == 405 {
		dst = append(dst, "Allow: GET, HEAD, POST\r\n"...)
	}
	dst = append(dst, lines...)
	dst = AppendFraming(dst, len(text), close)
	if !head {
		dst = append(dst, text...)
	}
	return dst
}

// AppendRedirect appends a redirect with optional field lines. location must be a valid
// field value.
func AppendRedirect(dst []byte, status int, location http1.Value, lines []byte, close bool) []byte {
	dst = AppendStatus(dst, status)
	dst = http1.AppendField(dst, "Location", location)
	dst = append(dst, lines...)
	return AppendFraming(dst, 0, close)
}

// AppendStatus appends the status line with the reason phrase.
func AppendStatus(dst []byte, status int) []byte {
	dst = append(dst, "HTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(status), 10)
	dst = append(dst, ' ')
	dst = append(dst, reasons[status]...)
	return append(dst, "\r\n"...)
}

// AppendFraming ends the head of a response with a body of that many bytes. close announces
// the end of the connection.
func AppendFraming(dst []byte, length int, close bool) []byte {
	dst = append(dst, "Content-Length: "...)
	dst = strconv.AppendInt(dst, int64(length), 10)
	if close {
		dst = append(dst, "\r\nConnection: close"...)
	}
	return append(dst, "\r\n\r\n"...)
}

// contentType distinguishes HTML from plain text, because operators configure either.
func contentType(text string) string {
	if t := bytes.TrimSpace([]byte(text)); len(t) > 0 && t[0] == '<' {
		return "text/html; charset=utf-8"
	}
	return "text/plain; charset=utf-8"
}

// Challenges maps the paths of ACME challenges to their responses (RFC 8555 section 8.3). It
// is nearly always nil, which costs a request one comparison.
type Challenges map[string][]byte

var challengePath = []byte(farm.ChallengePath)

func newChallenges(cfg *farm.Config) Challenges {
	if len(cfg.Challenges) == 0 {
		return nil
	}
	out := make(Challenges, len(cfg.Challenges))
	for _, c := range cfg.Challenges {
		out[farm.ChallengePath+c.Token] = []byte(c.Answer)
	}
	return out
}

// asks reports whether the request is for one of the tokens: an exact path without a query,
// on any host. Other tokens are routed to services, whose backends may have their own ACME
// client.
func (c Challenges) asks(r *http1.Request) bool {
	if r.Verb != http1.VerbGET && r.Verb != http1.VerbHEAD || !bytes.HasPrefix(r.Path, challengePath) {
		return false
	}
	_, known := c[string(r.Path)]
	return known
}
