package validate

import (
	"fmt"
	"strings"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/validate/check"
	"github.com/sluicelb/sluice/mgmt/validate/field"
	"github.com/sluicelb/sluice/mgmt/validate/httpfarm"
	"github.com/sluicelb/sluice/mgmt/validate/profile"
)

// Unveil replaces the masks of a Veil in cfg by the credentials of old. So applying a
// document that was shown with masks keeps the credentials. A mask without a unique original
// is rejected.
func Unveil(old, cfg *farm.Config) error {
	was, is := farm.Apart(old.Farms, cfg.Farms) // others are shared, and thus unchanged
	before := make(map[uint32]*farm.Farm, len(was))
	for i := range was {
		before[was[i].ID] = &was[i]
	}
	delete(before, 0)
	for i := range is {
		if err := unveilFarm(before[is[i].ID], &is[i]); err != nil {
			return err
		}
	}
	return unveilChecks(old, cfg)
}

// hidden is a group of texts in a list that look the same when masked.
type hidden struct {
	texts []string
	meant int // number of masked texts in the new list for this group
}

// unveilFarm processes one farm; was is nil for a new one.
func unveilFarm(was, f *farm.Farm) error {
	var veiled []*string
	var keys []string
	var named []bool // it is clear that the mask stands for a credential
	known := map[string]*hidden{}
	eachHidable(f, func(of string, at *string, by func(string) string) {
		masked := strings.Contains(*at, probe.Hidden) && httpfarm.CheckPattern(*at) != "" && httpfarm.CheckVeiled(*at) == "" && isPattern(of)
		if masked || isVeiled(*at, by, opaqueCredential) {
			key := of + "\x00" + *at
			veiled, keys = append(veiled, at), append(keys, key)
			named = append(named, masked || isVeiled(*at, by, namedCredential))
			known[key] = &hidden{}
		}
	})
	if len(veiled) == 0 {
		return nil
	}
	if was != nil {
		eachHidable(was, func(of string, at *string, by func(string) string) {
			if h := known[of+"\x00"+by(*at)]; h != nil {
				h.texts = append(h.texts, *at)
			}
		})
	}
	for _, key := range keys {
		known[key].meant++
	}
	next := map[string]int{}
	for i, at := range veiled {
		if len(known[keys[i]].texts) == 0 && !named[i] {
			continue // three asterisks
		}
		text, err := known[keys[i]].text(next[keys[i]])
		if err != nil {
			list, _, _ := strings.Cut(keys[i], "\x00")
			return &field.Error{Path: profile.FarmPath(f.Name), Message: fmt.Sprintf("%s: %q %s", list, *at, err)}
		}
		*at = text
		next[keys[i]]++
	}
	return nil
}

// isPattern reports whether a list contains regexes, in which the mask has no other
// meaning.
func isPattern(list string) bool {
	return strings.HasSuffix(list, "headrequire") || strings.HasSuffix(list, "headdeny") || strings.Contains(list, " match ") || strings.Contains(list, " pattern") || strings.Contains(list, " remove")
}

// text returns the original of the masked text at that position of the new list.
func (h *hidden) text(at int) (string, error) {
	same := len(h.texts) > 0
	for _, t := range h.texts {
		same = same && t == h.texts[0]
	}
	switch {
	case len(h.texts) == 0:
		return "", fmt.Errorf("has %s for a credential that is not kept here: send the credential itself", probe.Hidden)
	case same:
		return h.texts[0], nil
	case h.meant != len(h.texts):
		return "", fmt.Errorf("has %s for one of several credentials: send the credential itself", probe.Hidden)
	}
	return h.texts[at], nil
}

// Placeholders of masked credentials. The first is masked only after a name or scheme, the
// second everywhere (isOpaque).
const (
	namedCredential  = "hidden-credential"
	opaqueCredential = "hidden-credential-00"
)

// isVeiled reports whether a text contains the mask where by would put it for this
// credential.
func isVeiled(text string, by func(string) string, credential string) bool {
	return strings.Contains(text, probe.Hidden) && !strings.Contains(by(strings.ReplaceAll(text, probe.Hidden,
		credential)), credential)
}

func unveilChecks(old, cfg *farm.Config) error {
	for i := range cfg.Checks {
		c := &cfg.Checks[i]
		if !strings.Contains(c.Command, probe.Hidden) {
			continue
		}
		was := ""
		if at := farm.CheckAt(old.Checks, c.Name); at >= 0 {
			was = old.Checks[at].Command
		}
		switch {
		case c.Command == was:
		case was != "" && (c.Command == hideSent(was) || c.Command == probe.Masked(was)):
			c.Command = was
		case isVeiled(c.Command, hideSent, namedCredential):
			return &field.Error{Path: check.Path(c.Name), Field: "command", Message: fmt.Sprintf("command has %s for what is hidden and is not that of before: send what it stands for", probe.Hidden)}
		}
	}
	return nil
}
