package conntrack

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	ct "github.com/ti-mo/conntrack"
)

// Usage holds the fill level of the table and the losses since the start of the kernel.
// When Entries reaches Max, a new connection displaces one without a reply; if there is
// none, its first packet is dropped.
type Usage struct {
	Entries int `json:"entries"`
	Max     int `json:"max"`
	// Dropped packets could not be tracked because the table was full, Displaced entries
	// made room, and Failed entries collided with an existing one.
	Dropped   uint64 `json:"dropped"`
	Displaced uint64 `json:"displaced"`
	Failed    uint64 `json:"failed"`
}

// Full reports whether the table has no room for new connections.
func (u Usage) Full() bool { return u.Max > 0 && u.Entries >= u.Max }

// String returns a sentence for people.
func (u Usage) String() string {
	return fmt.Sprintf("%d of %d tracked connections, %d packets dropped and %d entries displaced because the table was full",
		u.Entries, u.Max, u.Dropped, u.Displaced)
}

// Used returns the state of the table of this network namespace. Max is 0 until something
// uses connection tracking, because the table does not exist before.
func Used() (Usage, error) {
	var u Usage
	for name, to := range map[string]*int{"nf_conntrack_count": &u.Entries, "nf_conntrack_max": &u.Max} {
		b, err := os.ReadFile("/proc/sys/net/netfilter/" + name)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return Usage{}, fmt.Errorf("tracked connections: %w", err)
		}
		if *to, err = strconv.Atoi(strings.TrimSpace(string(b))); err != nil {
			return Usage{}, fmt.Errorf("tracked connections: %s: %w", name, err)
		}
	}
	c, err := ct.Dial(nil)
	if err != nil {
		return Usage{}, fmt.Errorf("tracked connections: %w", err)
	}
	defer c.Close()
	stats, err := c.Stats()
	if err != nil {
		return Usage{}, fmt.Errorf("statistics of tracked connections: %w", err)
	}
	for _, s := range stats {
		u.Dropped += uint64(s.Drop)
		u.Displaced += uint64(s.EarlyDrop)
		u.Failed += uint64(s.InsertFailed)
	}
	return u, nil
}
