package probe

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Tokens of a command that stand for the target.
const (
	HostToken = "HOST"
	PortToken = "PORT"
)

// Text is a word of a command, in which HOST and PORT may stand for the target.
type Text string

// For returns the text for a target. HOST and PORT are replaced only as whole words: not in
// LOCALHOST. An IPv6 address in HOST:PORT gets its brackets.
func (t Text) For(to Target) string {
	host, port := to.Addr.String(), strconv.Itoa(int(to.Port))
	s := replaceWord(string(t), HostToken+":"+PortToken, net.JoinHostPort(host, port))
	return replaceWord(replaceWord(s, HostToken, host), PortToken, port)
}

// replaceWord replaces old where no letter, digit or _ is next to it.
func replaceWord(s, old, by string) string {
	if !strings.Contains(s, old) {
		return s
	}
	var out strings.Builder
	for before := byte(0); s != ""; {
		if strings.HasPrefix(s, old) && !wordly(before) && (len(s) == len(old) || !wordly(s[len(old)])) {
			out.WriteString(by)
			before, s = 'x', s[len(old):]
			continue
		}
		out.WriteByte(s[0])
		before, s = s[0], s[1:]
	}
	return out.String()
}

func wordly(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// Port is a port of a command: a number, or 0 for the port of the target.
type Port uint16

// Set reads PORT or a number.
func (p *Port) Set(v string) error {
	if v == PortToken {
		*p = 0
		return nil
	}
	n, err := strconv.ParseUint(v, 10, 16)
	if err != nil || n == 0 {
		return fmt.Errorf("%q is no port: write PORT for that of the backend, or a number from 1 to 65535", v)
	}
	*p = Port(n)
	return nil
}

// Host is the host that a command connects to: the target ("" and HOST), or another host,
// e.g. the database behind the backend.
type Host string

// For returns the host as an address or a name.
func (h Host) For(to Target) string {
	if h == "" || h == HostToken {
		return to.Addr.String()
	}
	return string(h)
}

// Address joins host and port for a target.
func Address(h Host, p Port, to Target) string {
	if p == 0 {
		p = Port(to.Port)
	}
	return net.JoinHostPort(h.For(to), strconv.Itoa(int(p)))
}

// ServerName returns the name of the server for TLS. It is the name of the target if the
// check connects to the target and the target has a name. Otherwise it is the address.
func ServerName(h Host, to Target) string {
	if (h == "" || h == HostToken) && to.Name != "" {
		return to.Name
	}
	name, _, _ := strings.Cut(h.For(to), "%") // a zone is local to this machine (RFC 6874)
	return name
}
