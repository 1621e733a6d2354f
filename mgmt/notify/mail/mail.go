// Package mail sends mails over SMTP. It is the only importer of the SMTP library.
//
// Each recipient gets a mail of its own over the same connection, so an address that the
// server rejects does not affect others. The size and duration of the server's responses
// and the number of exchanges are bounded.
//
// No part of a mail can become a header line: addresses are validated, subjects are cleaned
// and encoded, and texts are encoded as a whole.
package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"
)

// Server is a mail server.
type Server struct {
	Host string
	Port int
	// User and Password authenticate; without a user there is no authentication. Without
	// Secure, only mechanisms that do not reveal the password are used.
	User, Password string
	// Secure requires TLS: implicit on port 465, STARTTLS on others. Otherwise everything
	// is in clear text.
	Secure bool
	// Roots verifies the server; nil: the system's roots.
	Roots *x509.CertPool
}

// SecurePort is the port for implicit TLS.
const SecurePort = 465

// DefaultPort returns the default port of a server.
func DefaultPort(secure bool) int {
	if secure {
		return 587
	}
	return 25
}

// Message is a plain text mail.
type Message struct {
	From    string
	To      []string
	Subject string
	Text    string
	// Host names this machine, to the server and in the message ID.
	Host string
	At   time.Time
}

// Failure is a recipient who did not get the mail.
type Failure struct {
	To string
	// Final means that the server rejected it permanently, so retries are pointless.
	Final bool
	Err   error
}

// Error implements error.
func (f *Failure) Error() string { return fmt.Sprintf("%s: %s", f.To, f.Err) }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Limits of one connection.
const (
	sessionTime = 60 * time.Second
	stepTime    = 15 * time.Second
	mostSaid    = 256 << 10 // bytes accepted from a server
	maxSubject  = 250
)

// Send sends a mail to all its recipients. It returns the server's last success response,
// and the failed recipients.
func Send(ctx context.Context, s Server, m Message) (said string, failed []*Failure) {
	mails, err := m.each()
	if err != nil {
		return "", m.all(err, true)
	}
	ctx, cancel := context.WithTimeout(ctx, sessionTime)
	defer cancel()
	d := &dialer{server: s, session: ctx}
	defer d.close()
	client, err := gomail.NewClient(s.Host, s.options(d, m.Host)...)
	if err != nil {
		return "", m.all(err, true)
	}
	if err := client.DialAndSendWithContext(ctx, mails...); err != nil && !anySent(mails) && !anyRefused(mails) {
		return "", m.all(plain(err, ctx), false)
	}
	for i, one := range mails {
		switch {
		case one.IsDelivered():
			said = clean(one.ServerResponse())
		case one.HasSendError():
			failed = append(failed, &Failure{m.To[i], final(one.SendError()), plain(one.SendError(), ctx)})
		default:
			failed = append(failed, &Failure{m.To[i], false, errors.New("the connection ended before")})
		}
	}
	return said, failed
}

func anySent(mails []*gomail.Msg) bool {
	for _, m := range mails {
		if m.IsDelivered() {
			return true
		}
	}
	return false
}

func anyRefused(mails []*gomail.Msg) bool {
	for _, m := range mails {
		if m.HasSendError() {
			return true
		}
	}
	return false
}

func (m *Message) all(err error, final bool) (out []*Failure) {
	for _, to := range m.To {
		out = append(out, &Failure{to, final, err})
	}
	return out
}

// each builds one mail for each recipient.
func (m *Message) each() ([]*gomail.Msg, error) {
	var out []*gomail.Msg
	for _, to := range m.To {
		one := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
		if err := errors.Join(CheckAddress(m.From), CheckAddress(to), one.From(m.From), one.To(to)); err != nil {
			return nil, err
		}
		subject := clean(m.Subject)
		if runes := []rune(subject); len(runes) > maxSubject {
			subject = string(runes[:maxSubject]) + "…"
		}
		one.Subject(subject)
		one.SetDateWithValue(cmp.Or(m.At, time.Now()))
		one.SetMessageIDWithValue(fmt.Sprintf("%d.%d@%s", m.At.UnixNano(), len(out), cmp.Or(hostName(m.Host), "localhost")))
		one.SetGenHeader("Auto-Submitted", "auto-generated") // prevents automatic replies (RFC 3834)
		one.SetBodyString(gomail.TypeTextPlain, body(m.Text))
		out = append(out, one)
	}
	return out, nil
}

// addressForm is stricter than RFC 5322: it excludes quoted parts and comments, which could
// smuggle other content and are unused in practice.
var addressForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9.!#$%&'*+/=?^_{|}~` + "`" + `-]+@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)
})

// maxAddress is the maximum length of an address (RFC 5321 §4.5.3.1.3).
const maxAddress = 254

// CheckAddress validates a mailbox address without a display name.
func CheckAddress(text string) error {
	local, domain, _ := strings.Cut(text, "@")
	if len(text) > maxAddress || len(local) > 64 || !addressForm().MatchString(text) || strings.HasPrefix(local, ".") || strings.HasSuffix(local, ".") || strings.Contains(text, "..") || domain == "" {
		return fmt.Errorf("%q is no mail address, as ops@example.com", cut(text))
	}
	return nil
}

func cut(text string) string {
	if len(text) > 80 {
		return strings.ToValidUTF8(text[:80], "") + "…"
	}
	return text
}

// clean converts a text to a single line.
func clean(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}

// body cleans each line of a text.
func body(text string) string {
	var out strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		out.WriteString(clean(line))
		out.WriteString("\r\n")
	}
	return out.String()
}

// hostName reduces a name to characters valid in headers and SMTP; "" if none remain.
func hostName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return -1
	}, name)
	return strings.Trim(name[:min(len(name), 200)], ".-")
}

func (s *Server) options(d *dialer, host string) []gomail.Option {
	out := []gomail.Option{
		gomail.WithPort(s.Port), gomail.WithTimeout(stepTime), gomail.WithHELO(cmp.Or(hostName(host), "localhost")),
		gomail.WithDialContextFunc(d.dial), gomail.WithTLSConfig(s.config()), gomail.WithTLSPolicy(gomail.NoTLS),
	}
	if s.Secure && s.Port != SecurePort {
		out = append(out, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if s.User != "" {
		out = append(out, gomail.WithUsername(s.User), gomail.WithPassword(s.Password), gomail.WithOpportunisticSMTPAuth(s.methods()...))
	}
	return out
}

// methods returns the authentication mechanisms, best first. PLAIN and LOGIN are only for
// secure connections.
func (s *Server) methods() []gomail.SMTPAuthType {
	if s.Secure {
		return []gomail.SMTPAuthType{gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin, gomail.SMTPAuthCramMD5}
	}
	return []gomail.SMTPAuthType{gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthCramMD5}
}

func (s *Server) config() *tls.Config {
	return &tls.Config{ServerName: s.Host, RootCAs: s.Roots, MinVersion: tls.VersionTLS12}
}

// Address returns the address of the server.
func (s *Server) Address() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }
