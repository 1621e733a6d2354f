// Package inline is about checks that keep what was fields of farms and services in
// generations of the API before 3.2: each belongs to one farm or service, is renamed with
// it and gone with it. They are known by their description; one that was given another is
// a check like others.
package inline

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/validate"
)

const before, after = "Kept by fields of ", " in older generations of the API"

// Description is that of the check of a group.
func Description(g farm.Group) string { return before + g.String() + after }

// Name is the n-th name of the check of a group: shop_web_fg, dns_fg, dns_fg2. Names of
// farms have no underscore, so no two groups have the same; what is too long for a name
// ends in a digest of the whole.
func Name(g farm.Group, n int) string {
	name, suffix := g.Farm.Name, "_fg"
	if service := g.Name(); service != "" {
		name += "_" + service
	}
	if n > 1 {
		suffix += strconv.Itoa(n)
	}
	if len(name)+len(suffix) > validate.MaxName {
		sum := sha256.Sum256([]byte(name))
		digest := "_" + hex.EncodeToString(sum[:8])
		name = name[:validate.MaxName-len(digest)-len(suffix)] + digest
	}
	return name + suffix
}

// Rename gives the checks of a farm the names they have once it has its new one; edit
// gives it that.
func Rename(cfg *farm.Config, f *farm.Farm, edit func() error) error {
	owned := map[string]int{} // by service, where its check is
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
		if !is || cfg.Checks[at].Description == Description(g) { // which has the name it had
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

// own reports whether nobody but the group has a check linked.
func own(cfg *farm.Config, check string, g farm.Group) bool {
	return !slices.ContainsFunc(cfg.CheckUsers(check), func(user farm.Group) bool {
		return user.Farm.Name != g.Farm.Name || user.Name() != g.Name()
	})
}

// Forget removes the checks of farms and services that are gone, unless others have them
// linked.
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
