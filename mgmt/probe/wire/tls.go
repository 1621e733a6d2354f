package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/sluicelb/sluice/mgmt/probe"
)

// TLSHandshake is the name of that step.
const TLSHandshake = "TLS handshake"

// TLS holds the settings of a check for TLS. A certificate is verified only on request,
// since backends often have a self-signed one.
type TLS struct {
	Name   probe.Text // for SNI and verification; "" for the name of the target
	Verify bool
	Dated  bool // the certificate must be valid for more than Days whole days
	Days   int
	Least  uint16
	Only   bool // no version but Least
}

// Flags declares the usual flags, except the flag that turns TLS on.
func (t *TLS) Flags(f *probe.Flags, days string) {
	f.Text(&t.Name, "sni")
	f.Bool(&t.Verify, "verify verify-cert")
	if days != "" {
		f.Value(days, t.SetDays)
	}
}

// SetDays reads "30" or "30,14". Of two numbers the larger one counts, since a warning is
// not healthy either. 0 accepts every certificate with a whole day left.
func (t *TLS) SetDays(v string) error {
	t.Dated, t.Days = true, 0
	for one := range strings.SplitSeq(v, ",") {
		n, err := strconv.Atoi(one)
		if err != nil || n < 0 || n > 10000 {
			return fmt.Errorf("%q is no number of days from 0 to 10000", one)
		}
		t.Days = max(t.Days, n)
	}
	return nil
}

// Version reads the value of -S: 1.2, or 1.2+ for that and newer ones.
func (t *TLS) Version(v string) error {
	number, more := strings.CutSuffix(v, "+")
	at := map[string]uint16{"": tls.VersionTLS12, "1": tls.VersionTLS10, "1.0": tls.VersionTLS10, "1.1": tls.VersionTLS11, "1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}[number]
	if at == 0 {
		return fmt.Errorf("%q is no version of TLS: 1, 1.1, 1.2 or 1.3, with + for newer ones too", v)
	}
	t.Least, t.Only = at, v != "" && !more
	return nil
}

// Config returns the configuration for a server of that name.
func (t *TLS) Config(name string) *tls.Config {
	config := &tls.Config{ServerName: name, InsecureSkipVerify: !t.Verify, MinVersion: t.Least}
	if t.Least == 0 {
		config.MinVersion = tls.VersionTLS12
	}
	if t.Only {
		config.MaxVersion = t.Least
	}
	return config
}

// Then makes a configuration call next when a library has completed a handshake except for
// sending its own last message.
func Then(config *tls.Config, next func()) *tls.Config {
	config.VerifyConnection = func(tls.ConnectionState) error { next(); return nil }
	return config
}

// For returns the configuration for a target, or for another host in the command.
func (t *TLS) For(host probe.Host, to probe.Target) *tls.Config {
	if name := t.Name.For(to); name != "" {
		return t.Config(name)
	}
	return t.Config(probe.ServerName(host, to))
}

// Client makes a handshake with a target and judges the certificate.
func (t *TLS) Client(ctx context.Context, c net.Conn, host probe.Host, to probe.Target, say probe.Say) (*tls.Conn, error) {
	return t.Handshake(ctx, c, t.For(host, to), say)
}

// Handshake makes a handshake and judges the certificate.
func (t *TLS) Handshake(ctx context.Context, c net.Conn, config *tls.Config, say probe.Say) (*tls.Conn, error) {
	probe.Step(ctx, TLSHandshake)
	secured := tls.Client(c, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	if below, is := c.(*Conn); is {
		below.muted.Store(true)
	}
	probe.Step(ctx, "certificate")
	return secured, t.Judge(secured.ConnectionState(), time.Now(), say)
}

// Judge checks the certificate of a connection at a time.
func (t *TLS) Judge(s tls.ConnectionState, now time.Time, say probe.Say) error {
	if len(s.PeerCertificates) == 0 {
		return errors.New("the server has none")
	}
	leaf := s.PeerCertificates[0]
	left := leaf.NotAfter.Sub(now)
	say("%s, %s, certificate %q until %s (%d days)", tls.VersionName(s.Version), tls.CipherSuiteName(s.CipherSuite), leaf.Subject.CommonName, leaf.NotAfter.UTC().Format(time.DateOnly), int(left.Hours()/24))
	switch {
	case !t.Dated:
		return nil
	case left <= 0:
		return fmt.Errorf("the certificate ended on %s", leaf.NotAfter.UTC().Format(time.DateOnly))
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("the certificate is not valid before %s", leaf.NotBefore.UTC().Format(time.DateOnly))
	case int(left.Hours()/24) <= t.Days: // whole days, as plugins count
		return fmt.Errorf("the certificate ends in %d days, wanted more than %d", int(left.Hours()/24), t.Days)
	}
	return nil
}
