package conntrack

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	ct "github.com/ti-mo/conntrack"
)

// Usage tells how full the table is, and what the kernel could not keep in it
// since it started. When Entries has reached Max, a new connection displaces
// one that never was answered; where there is none its first packet is dropped.
type Usage struct {
	Entries int `json:"entries"`
	Max     int `json:"max"`
	// Dropped packets could not be tracked because the table was full, Displaced
	// entries made room, Failed ones met another that was there first.
	Dropped   uint64 `json:"dropped"`
	Displaced uint64 `json:"displaced"`
	Failed    uint64 `json:"failed"`
}

// Full reports whether new connections find no room.
func (u Usage) Full() bool { return u.Max > 0 && u.Entries >= u.Max }

// String is a sentence for people.
func (u Usage) String() string {
	return fmt.Sprintf("%d of %d tracked connections, %d packets dropped and %d entries displaced because the table was full",
		u.Entries, u.Max, u.Dropped, u.Displaced)
}

// Used reads the state of the table of this network namespace. The table and
// its limit do not exist before something tracks connections; Max is 0 then.
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
