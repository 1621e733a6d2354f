package cli

import (
	"fmt"
	"strings"
	"time"
)

// resolution is the address resolution of a backend's host name.
type resolution struct {
	Resolve, Name, Problem string
	Of                     *int
	Addresses              []string
	Age, TTL               *int64
}

// shownAddress returns the IP of a backend for tables. For a host name it includes the
// resolved address and its age.
func shownAddress(ip string, r *resolution) string {
	switch {
	case r == nil:
		return ip
	case r.Of != nil:
		return fmt.Sprintf("%s (%s)", ip, r.Name)
	case len(r.Addresses) == 0:
		return ip + " (no address)"
	case r.Resolve == "first":
		return fmt.Sprintf("%s (%s%s)", ip, r.Addresses[0], r.age(", "))
	}
	return fmt.Sprintf("%s (%s%s)", ip, count(len(r.Addresses), "address", "addresses"), r.age(", "))
}

// age returns the age of the addresses after a separator.
func (r *resolution) age(before string) string {
	if r.Age == nil {
		return ""
	}
	return before + (time.Duration(*r.Age) * time.Second).String() + " ago"
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// lines returns the output for one backend.
func (r *resolution) lines() [][2]any {
	if r == nil {
		return nil
	}
	addresses := strings.Join(r.Addresses, ", ")
	if addresses == "" {
		addresses = "none"
	}
	out := [][2]any{{"resolve", r.Resolve}, {"name", r.Name}, {"addresses", addresses + r.age(", resolved ")}}
	if r.TTL != nil {
		out = append(out, [2]any{"ttl", (time.Duration(*r.TTL) * time.Second).String()})
	}
	if r.Of != nil {
		out = append(out, [2]any{"from the name of backend", *r.Of})
	}
	if r.Problem != "" {
		out = append(out, [2]any{"name not resolved", r.Problem})
	}
	return out
}
