// Package mail sends mails over SMTP. It is the door to the library that speaks it.
//
// A mail goes to each recipient by itself, over one connection: one address that the
// server refuses keeps nobody else from getting it. What a server may say and how long
// it may take are bounded, and so is how often it is answered.
//
// Nothing of a mail can become a header line: addresses are checked, subjects are
// cleaned and encoded, and texts are encoded as a whole.
package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"

	"github.com/sluicelb/sluice/core/pattern"
)

// Server is a mail server.
type Server struct {
	Host string
	Port int
	// User and Password log in; without a user nobody does. Without Secure only by means
	// that do not show the password.
	User, Password string
	// Secure wants TLS: from the first byte on port 465, by STARTTLS on others. Without it
	// everything is in clear text.
	Secure bool
	// Roots verify the server; nil: those of the system.
	Roots *x509.CertPool
}

// SecurePort is where TLS begins with the first byte.
const SecurePort = 465

// DefaultPort is that of a server whose port nobody named.
func DefaultPort(secure bool) int {
	if secure {
		return 587
	}
	return 25
}

// Message is a mail of plain text.
type Message struct {
	From    string
	To      []string
	Subject string
	Text    string
	// Host names this machine: to the server, and in the number of the mail.
	Host string
	At   time.Time
}

// Failure is a recipient who did not get a mail.
type Failure struct {
	To string
	// Final: the server refused it for good, and it is in vain to try again.
	Final bool
	Err   error
}

// Error implements error.
func (f *Failure) Error() string { return fmt.Sprintf("%s: %s", f.To, f.Err) }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// The bounds of one connection.
const (
	sessionTime = 60 * time.Second
	stepTime    = 15 * time.Second
	mostSaid    = 256 << 10 // bytes a server may say
	maxSubject  = 250
)

// Send sends a mail to all its recipients and returns what the server said of the last
// one that got it, and who did not.
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

// each makes a mail for every recipient.
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
		one.SetGenHeader("Auto-Submitted", "auto-generated") // nobody's holiday answers (RFC 3834)
		one.SetBodyString(gomail.TypeTextPlain, body(m.Text))
		out = append(out, one)
	}
	return out, nil
}

// addressForm is narrower than RFC 5322: quoted parts and comments, which could carry
// something else, are nobody's address.
var addressForm = pattern.Lazy(`^[A-Za-z0-9.!#$%&'*+/=?^_{|}~` + "`" + `-]+@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)

// maxAddress bounds an address (RFC 5321 section 4.5.3.1.3).
const maxAddress = 254

// CheckAddress says whether a text is the address of a mailbox, without a name.
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

// clean makes one line of a text.
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

// hostName is a name as headers and servers want one; empty when it is none.
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

// methods are how is logged in, the best first: PLAIN is for secure connections alone.
func (s *Server) methods() []gomail.SMTPAuthType {
	if s.Secure {
		return []gomail.SMTPAuthType{gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin, gomail.SMTPAuthCramMD5}
	}
	return []gomail.SMTPAuthType{gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthCramMD5}
}

func (s *Server) config() *tls.Config {
	return &tls.Config{ServerName: s.Host, RootCAs: s.Roots, MinVersion: tls.VersionTLS12}
}

// Address is where the server is.
func (s *Server) Address() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }
