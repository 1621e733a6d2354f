package sysctl

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// root contains the sysctls of the network namespace of the thread.
const root = "/proc/sys/net/"

// known matches the names that may be set, below net/. Slashes separate them because
// names of interfaces may contain dots.
var known = regexp.MustCompile(`^(ipv4/ip_forward` +
	`|ipv4/conf/[^/]+/(rp_filter|forwarding|accept_redirects|send_redirects|arp_ignore|arp_announce)` +
	`|ipv6/conf/[^/]+/(forwarding|accept_ra)` +
	`|netfilter/nf_conntrack_(acct|helper|timestamp|tcp_be_liberal))$`)

// value matches allowed values: all names accept a small number.
var value = regexp.MustCompile(`^[0-9]{1,5}$`)

func check(name, v string) error {
	if !known.MatchString(name) || strings.Contains(name, "/../") || strings.Contains(name, "/./") {
		return fmt.Errorf("sysctl net/%s is none that may be set", name)
	}
	if !value.MatchString(v) {
		return fmt.Errorf("sysctl net/%s: %q is no value for it", name, v)
	}
	return nil
}

func read(name string) (string, error) {
	b, err := os.ReadFile(root + name)
	return strings.TrimSpace(string(b)), err
}

func write(name, v string) error { return os.WriteFile(root+name, []byte(v), 0) }

// carried returns the names that the kernel changes when name is set.
func carried(name string) []string {
	var pattern string
	switch name {
	case "ipv4/ip_forward":
		pattern = "ipv4/conf/*/forwarding"
	case "ipv6/conf/all/forwarding":
		pattern = "ipv6/conf/*/forwarding"
	default:
		return nil
	}
	paths, _ := filepath.Glob(root + pattern)
	names := make([]string, 0, len(paths)+1)
	for _, p := range paths {
		if n := strings.TrimPrefix(p, root); n != name {
			names = append(names, n)
		}
	}
	if name == "ipv4/ip_forward" {
		names = append(names, "ipv4/conf/all/accept_redirects")
	}
	return names
}
