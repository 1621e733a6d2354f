package resolve

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// System resolves names as programs of this machine do. It reads its files for each query,
// so that it follows changes of them.
type System struct {
	Hosts, Config string // the files; empty means those in /etc
	Port          uint16 // of the servers of parent zones; 0 means 53
}

const (
	hostsFile  = "/etc/hosts"
	configFile = "/etc/resolv.conf"
	// hostsTTL is the validity of a line of the hosts file.
	hostsTTL = 10 * time.Second
	// maxServers and maxAttempts limit the values in resolv.conf, as libc does.
	maxServers  = 3
	maxAttempts = 5
	maxTimeout  = 10 * time.Second
	// maxHosts bounds the bytes read from the hosts file.
	maxHosts = 1 << 20
)

// fromHosts returns the addresses of a name in the hosts file, and the fixed addresses of
// localhost (RFC 6761 section 6.3).
func (s System) fromHosts(name string) (out []netip.Addr) {
	path := s.Hosts
	if path == "" {
		path = hostsFile
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if f, err := os.Open(path); err == nil {
		defer f.Close()
		lines := bufio.NewScanner(f)
		for read := 0; lines.Scan() && read < maxHosts; read += len(lines.Bytes()) + 1 {
			line, _, _ := strings.Cut(lines.Text(), "#")
			fields := strings.Fields(line)
			if len(fields) < 2 {
				continue
			}
			addr, err := netip.ParseAddr(fields[0])
			if err != nil {
				continue
			}
			for _, alias := range fields[1:] {
				if strings.ToLower(strings.TrimSuffix(alias, ".")) == name {
					out = append(out, addr.Unmap())
				}
			}
		}
	}
	if len(out) == 0 && (name == "localhost" || strings.HasSuffix(name, ".localhost")) {
		out = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	return out
}

// config is resolv.conf with its limits.
type config struct {
	servers  []string // address:port
	names    func(name string) []string
	timeout  time.Duration
	attempts int
}

func (s System) config() (config, error) {
	path := s.Config
	if path == "" {
		path = configFile
	}
	c, err := dns.ClientConfigFromFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return config{}, fmt.Errorf("%s is missing, which names the name servers", path)
	}
	if err != nil {
		return config{}, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	if len(c.Servers) == 0 {
		return config{}, fmt.Errorf("%s names no name server", path)
	}
	out := config{
		names:    c.NameList,
		timeout:  min(max(time.Duration(c.Timeout)*time.Second, time.Second), maxTimeout),
		attempts: min(max(c.Attempts, 1), maxAttempts),
	}
	for _, server := range c.Servers[:min(len(c.Servers), maxServers)] {
		if _, err := netip.ParseAddrPort(server); err != nil {
			server = net.JoinHostPort(server, c.Port)
		}
		out.servers = append(out.servers, server)
	}
	return out, nil
}
