package syslog

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/mgmt/outbound"
)

// Protocol is the transport of messages.
type Protocol string

// Protocols.
const (
	UDP  Protocol = "udp"
	TCP  Protocol = "tcp"
	TLS  Protocol = "tls"
	Unix Protocol = "unix" // datagram or stream socket
)

// Target is the address of a server.
type Target struct {
	Protocol Protocol
	// Address is host:port, or the path of a socket.
	Address string
	// Roots returns the roots that verify a TLS server, at each connect; nil: the system's
	// roots. The verified name is the host of Address.
	Roots func() (*x509.CertPool, error)
}

// String returns the target as a URL, see CheckTarget.
func (t Target) String() string { return string(t.Protocol) + "://" + t.Address }

// CheckTarget returns an error unless text is a syslog target: udp://host:port,
// tcp://host:port or unix:///path.
func CheckTarget(text string) error {
	_, err := ParseTarget(text)
	return err
}

// ParseTarget parses a target, see CheckTarget.
func ParseTarget(text string) (Target, error) {
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" {
		return Target{}, fmt.Errorf("%q is none of udp://host:port, tcp://host:port and unix:///path", text)
	}
	switch u.Scheme {
	case "udp", "tcp":
		port, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil || port == 0 || u.Hostname() == "" || u.Path != "" {
			return Target{}, fmt.Errorf("%q is not %s://host:port", text, u.Scheme)
		}
		return Target{Protocol: Protocol(u.Scheme), Address: u.Host}, nil
	case "unix":
		if u.Host != "" || !strings.HasPrefix(u.Path, "/") {
			return Target{}, fmt.Errorf("%q is not unix:///path", text)
		}
		return Target{Protocol: Unix, Address: u.Path}, nil
	}
	return Target{}, fmt.Errorf("%q is none of udp://host:port, tcp://host:port and unix:///path", text)
}

// Host returns the host of a target that CheckTarget accepts, empty for a socket.
func Host(text string) string {
	t, err := ParseTarget(text)
	if err != nil || t.Protocol == Unix {
		return ""
	}
	host, _, _ := net.SplitHostPort(t.Address)
	return host
}

// dialer returns the dialer of the target. It refuses the addresses that outbound.Reachable
// excludes, e.g. of cloud metadata services, because users who may change only one farm set
// its targets.
func (t Target) dialer() *net.Dialer {
	if t.Protocol == Unix {
		return new(net.Dialer)
	}
	return outbound.Guard(outbound.Reachable).Dialer(net.Dialer{})
}

// networks returns the networks to try in order.
func (t Target) networks() []string {
	switch t.Protocol {
	case Unix:
		return []string{"unixgram", "unix"}
	case TLS:
		return []string{"tcp"}
	}
	return []string{string(t.Protocol)}
}

// config returns the TLS configuration for the server.
func (t Target) config() (*tls.Config, error) {
	host, _, err := net.SplitHostPort(t.Address)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if t.Roots != nil {
		config.RootCAs, err = t.Roots()
	}
	return config, err
}

// most returns the maximum size of a message in bytes.
func (t Target) most() int {
	if t.Protocol == UDP {
		return MaxDatagram
	}
	return MaxStream
}

// named reports whether the host is a name, whose address may change.
func (t Target) named() bool {
	host, _, err := net.SplitHostPort(t.Address)
	return err == nil && net.ParseIP(host) == nil
}
