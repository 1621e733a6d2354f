// Package inline handles checks that replace fields of farms and services in generations of
// the API before 3.2. Each of them belongs to one farm or service, and is renamed and
// deleted with it. They are identified by their description; a check whose description was
// changed is an ordinary one.
package inline

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate/format"
)

const before, after = "Kept by fields of ", " in older generations of the API"

// Description returns the description of a group's check.
func Description(g farm.Group) string { return before + g.String() + after }

// Name returns the n-th name of a group's check: shop_web_fg, dns_fg, dns_fg2. Names of farms
// have no underscore, so the name of each group is unique. A name that is too long ends in a
// digest of the whole.
func Name(g farm.Group, n int) string {
	name, suffix := g.Farm.Name, "_fg"
	if service := g.Name(); service != "" {
		name += "_" + service
	}
	if n > 1 {
		suffix += strconv.Itoa(n)
	}
	if len(name)+len(suffix) > format.MaxName {
		sum := sha256.Sum256([]byte(name))
		digest := "_" + hex.EncodeToString(sum[:8])
		name = name[:format.MaxName-len(digest)-len(suffix)] + digest
	}
	return name + suffix
}

// Rename renames a farm with edit, and its checks accordingly.
func Rename(cfg *farm.Config, f *farm.Farm, edit func() error) error {
	owned := map[string]int{} // by service, index of its check
	for _, g := range f.Groups() {
		if at := slices.IndexFunc(cfg.Checks, func(c farm.Check) bool { return c.Description == Description(g) }); at >= 0 && own(cfg, cfg.Checks[at].Name, g) {
			owned[g.Name()] = at
		}
	}
	if err := edit(); err != nil {
		return err
	}
	for _, g := range f.Groups() {
		at, is := owned[g.Name()]
		if !is || cfg.Checks[at].Description == Description(g) { // it already has the name
			continue
		}
		c, n := &cfg.Checks[at], 1
		for ; farm.CheckAt(cfg.Checks, Name(g, n)) >= 0; n++ {
		}
		if g.CheckedBy() == c.Name {
			*g.CheckedByAt() = Name(g, n)
		}
		c.Name, c.Description = Name(g, n), Description(g)
	}
	return nil
}

// own reports whether a check is linked only with the group.
func own(cfg *farm.Config, check string, g farm.Group) bool {
	return !slices.ContainsFunc(cfg.CheckUsers(check), func(user farm.Group) bool {
		return user.Farm.Name != g.Farm.Name || user.Name() != g.Name()
	})
}

// Forget removes the checks of deleted farms and services, unless they are linked with
// others.
func Forget(cfg *farm.Config) {
	there := map[string]bool{}
	for i := range cfg.Farms {
		for _, g := range cfg.Farms[i].Groups() {
			there[Description(g)] = true
		}
	}
	cfg.Checks = slices.DeleteFunc(cfg.Checks, func(c farm.Check) bool {
		kept := strings.HasPrefix(c.Description, before) && strings.HasSuffix(c.Description, after)
		return kept && !there[c.Description] && len(cfg.CheckUsers(c.Name)) == 0
	})
}
