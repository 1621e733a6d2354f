package syslog

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Protocol is how messages travel to a server.
type Protocol string

// The protocols.
const (
	UDP  Protocol = "udp"
	TCP  Protocol = "tcp"
	TLS  Protocol = "tls"
	Unix Protocol = "unix" // of datagrams or of streams, whichever it is
)

// Target is where messages go.
type Target struct {
	Protocol Protocol
	// Address is host:port, or the path of a socket.
	Address string
	// Roots verify a server of protocol TLS, asked for at each connect; nil: the
	// authorities of the system. The name is that in Address.
	Roots func() (*x509.CertPool, error)
}

// String is the target as CheckTarget takes it.
func (t Target) String() string { return string(t.Protocol) + "://" + t.Address }

// CheckTarget says whether a text is a syslog target: udp://host:port,
// tcp://host:port or unix:///path.
func CheckTarget(text string) error {
	_, err := ParseTarget(text)
	return err
}

// ParseTarget reads a text as CheckTarget takes it.
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

// networks are what is tried, one after the other.
func (t Target) networks() []string {
	switch t.Protocol {
	case Unix:
		return []string{"unixgram", "unix"}
	case TLS:
		return []string{"tcp"}
	}
	return []string{string(t.Protocol)}
}

// config is what TLS to the server begins with.
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

// most is how many bytes a message may have there.
func (t Target) most() int {
	if t.Protocol == UDP {
		return MaxDatagram
	}
	return MaxStream
}

// named reports whether the address may lead elsewhere the next time.
func (t Target) named() bool {
	host, _, err := net.SplitHostPort(t.Address)
	return err == nil && net.ParseIP(host) == nil
}
