// Package webhook delivers messages to receivers over HTTP.
//
// A message is a POST of JSON with two headers of its own:
//
//	Sluice-Signature: t=1795510800,v1=5257a869e7…
//	Sluice-Delivery:  9f86d081884c7d65
//
// The time t is that of this attempt in seconds, which prevents replays. The value v1 is the
// HMAC-SHA256, in hex, of t, a dot and the body, with the receiver's secret as key. The
// delivery ID is the same in each attempt of a message.
//
// The size and duration of a response are bounded. Redirects are not followed.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sluicelb/sluice/mgmt/outbound"
)

// Receiver is the destination of messages.
type Receiver struct {
	URL    string
	Secret []byte
	// Roots verifies it; nil: the system's roots.
	Roots *x509.CertPool
	// Proxy is the proxy for connections; nil: none.
	Proxy func() outbound.Proxy
}

// Message is a message to a receiver.
type Message struct {
	ID   string // the same in each attempt
	Body []byte
	At   time.Time // of this attempt
}

// Names of headers.
const (
	SignatureHeader = "Sluice-Signature"
	DeliveryHeader  = "Sluice-Delivery"
)

// Limits of one attempt.
const (
	tryTime   = 15 * time.Second
	mostSaid  = 64 << 10 // bytes of a response's head, and of its body
	maxURL    = 1024
	mostShown = 300 // bytes of an error
)

// Failure is the reason why a message was not accepted.
type Failure struct {
	// Final means that the receiver rejects this message for good, so retries are
	// pointless.
	Final bool
	text  string
}

// Error implements error.
func (f *Failure) Error() string { return f.text }

// unwanted lists the statuses that reject the message and do not indicate a problem of the
// receiver.
var unwanted = []int{http.StatusBadRequest, http.StatusGone, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity}

// Sign returns the value of SignatureHeader.
func Sign(secret []byte, at time.Time, body []byte) string {
	second := strconv.FormatInt(at.Unix(), 10)
	sum := hmac.New(sha256.New, secret)
	sum.Write([]byte(second + "."))
	sum.Write(body)
	return "t=" + second + ",v1=" + hex.EncodeToString(sum.Sum(nil))
}

// Send sends a message once and returns the status of the response. Errors: *Failure.
func Send(ctx context.Context, r Receiver, m Message) (status string, err error) {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(m.Body))
	if err != nil {
		return "", &Failure{text: "the address is none that can be asked"}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "sluice")
	req.Header.Set(SignatureHeader, Sign(r.Secret, m.At, m.Body))
	req.Header.Set(DeliveryHeader, m.ID)
	transport := r.transport()
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(req)
	if err != nil {
		return "", &Failure{text: plain(err, ctx)}
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, mostSaid) // only the status matters
	return verdict(answer)
}

func verdict(answer *http.Response) (string, error) {
	status := clean(strings.TrimSpace(strconv.Itoa(answer.StatusCode) + " " + http.StatusText(answer.StatusCode)))
	switch code := answer.StatusCode; {
	case code/100 == 2:
		return status, nil
	case code/100 == 3:
		return "", &Failure{text: "it answers " + status + " and points to " + clean(cmp.Or(answer.Header.Get("Location"), "nowhere")) + ": redirects are not followed, set url to where it is"}
	default:
		return "", &Failure{Final: slices.Contains(unwanted, code), text: "it answers " + status}
	}
}

func (r *Receiver) transport() *http.Transport {
	t := outbound.Transport(outbound.Options{Proxy: r.Proxy, Environment: true, Timeout: tryTime, Guard: outbound.Remote})
	t.TLSClientConfig = &tls.Config{RootCAs: r.Roots, MinVersion: tls.VersionTLS12}
	t.DisableKeepAlives, t.DisableCompression = true, true
	return t
}

// CheckURL validates the address of a receiver.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case len(text) > maxURL:
		return fmt.Errorf("%d bytes are too many, allowed are %d", len(text), maxURL)
	case err != nil || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("it is no address: write https://hooks.example.com/sluice")
	case u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return errors.New("https:// or http:// with a host is needed, as https://hooks.example.com/sluice")
	case u.User != nil:
		return errors.New("a user or password in it would be shown: the signature says who sends")
	case u.Fragment != "":
		return errors.New("what follows # is never sent: leave it away")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("it has no port from 1 to 65535, but %s", port)
		}
	}
	return outbound.Guard(outbound.Remote).CheckHost(u.Hostname())
}

// plain formats an error on one line without the receiver's address, which may contain a
// token.
func plain(err error, ctx context.Context) string {
	if ctx.Err() != nil {
		return "it does not answer in time"
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ended the connection without an answer"
	}
	return clean(err.Error())
}

// clean converts an untrusted text to a single line.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	if len(text) > mostShown {
		text = strings.ToValidUTF8(text[:mostShown], "") + "…"
	}
	return text
}
