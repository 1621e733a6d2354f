package validate

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/probe"
)

// Veil states which credentials of a configuration are hidden from a user who may read but
// not change it.
type Veil struct {
	// Headers hides those in header rules, conditions and rewrites, Checks those that
	// health checks send.
	Headers, Checks bool
}

// veils holds the regexes of a Veil, compiled on demand.
var veils = sync.OnceValue(func() (v struct {
	name, scheme, query, named, user, opaque, sent, line,
	replaced *regexp.Regexp
}) {
	const credential = `(?:authorization|authenticat|cookie|key|token|secret|passw|passphrase|pwd|credential|signature|session|jwt|bearer|vault|csrf|\bauth|auth\b|\b(?:otp|totp|pin|sid|sig|nonce)\b)`
	v.name = regexp.MustCompile(`(?i)` + credential)
	v.scheme = regexp.MustCompile(`(?i)\b(basic|bearer|digest|negotiate|ntlm|token|apikey)(\\s[+*]?|\s)+\S.*`)
	v.query = regexp.MustCompile(`(?i)([?&][^=&\s]*` + credential + `[^=&\s]*=)[^&\s"']+`)
	v.named = regexp.MustCompile(`(?i)(^|[\s;,"'])([^=:&\s;,"']*` + credential + `[^=:&\s;,"']*\s*[=:]\s*)[^&\s;,"']+`)
	v.user = regexp.MustCompile(`(://[^/\s:@"']*:)[^/\s@"']+@`)
	v.opaque = regexp.MustCompile(`[A-Za-z0-9_+=~-]{16,}`)
	// -E has no value; -s follows it, or is in the same word.
	v.sent = regexp.MustCompile(`(^|\s)(-E?s|--send|--string|-q|--quit|-P|--post|-k|--header|-a|--authorization)([\s=]+|)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"']\S*)`)
	v.line = regexp.MustCompile(`(?i)^([+ -]?\s*(?:-\s+)?(?:(?:header|pattern):\s*)?["']?)([^:"']*` + credential + `[^:"']*)(:|\\x3a)(.*)$`)
	v.replaced = regexp.MustCompile(`^([+ -]?\s*(?:-\s+)?(?:match|replace|command):\s*)(.+)$`)
	return v
})

// credentialFields matches document fields in a diff that look like header names,
// headerFields those that contain header lines.
var (
	credentialFields = regexp.MustCompile(`^[+ -]?\s*(?:-\s+)?[a-z0-9_]+:`)
	headerFields     = regexp.MustCompile(`^[+ -]?\s*(?:-\s+)?(?:header|pattern):`)
)

// hideLine masks the value of a header line, or of a regex for one, if the name indicates a
// credential.
func hideLine(text string) string {
	name, value, is := strings.Cut(text, ":")
	switch {
	case !is:
		return hideValue(text)
	case veils().name.MatchString(name) && strings.Trim(value, ` .*+?$^\s()`) != "":
		return name + ": " + probe.Hidden
	}
	return name + ":" + hideValue(value)
}

// hideValue masks credentials that are recognisable by their form, in any header. Long
// words of letters and digits count as credentials.
func hideValue(text string) string {
	text = veils().named.ReplaceAllString(hideForm(text), "${1}${2}"+probe.Hidden)
	return veils().opaque.ReplaceAllStringFunc(text, func(word string) string {
		if isOpaque(word) {
			return probe.Hidden
		}
		return word
	})
}

// hideForm masks credentials after the name of their scheme, and those in URLs.
func hideForm(text string) string {
	return hideURL(veils().scheme.ReplaceAllString(text, "$1 "+probe.Hidden))
}

// hideURL masks the password and the credentials in the query of URLs.
func hideURL(text string) string {
	text = veils().user.ReplaceAllString(text, "${1}"+probe.Hidden+"@")
	return veils().query.ReplaceAllString(text, "${1}"+probe.Hidden)
}

// isOpaque reports whether a word has letters and at least two digits, as keys and tokens
// without a name do.
func isOpaque(word string) bool {
	digits := strings.Count(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '0'
		}
		return r
	}, word), "0")
	return digits >= 2 && strings.ContainsFunc(word, unicode.IsLetter)
}

// hideSent masks the data sent by a check command.
func hideSent(command string) string {
	return hideURL(veils().sent.ReplaceAllString(probe.Masked(command), "${1}${2} "+probe.Hidden))
}

// Apply returns cfg with credentials masked, or cfg itself if there are none.
func (v Veil) Apply(cfg *farm.Config) *farm.Config {
	out := *cfg
	changed := false
	if v.Headers {
		out.Farms = slices.Clone(cfg.Farms)
		for i := range out.Farms {
			if f := out.Farms[i].Clone(); hideFarm(&f) {
				out.Farms[i], changed = f, true
			}
		}
	}
	if v.Checks {
		out.Checks = slices.Clone(cfg.Checks)
		for i := range out.Checks {
			c := &out.Checks[i]
			if shown := hideSent(c.Command); shown != c.Command {
				c.Command, changed = shown, true
			}
		}
	}
	if !changed {
		return cfg
	}
	return &out
}

// hideFarm masks the credentials of a farm and reports whether there were any.
func hideFarm(f *farm.Farm) (changed bool) {
	eachHidable(f, func(_ string, at *string, by func(string) string) {
		if shown := by(*at); shown != *at {
			*at, changed = shown, true
		}
	})
	return changed
}

// eachHidable calls do with every text of a farm that may contain credentials, and the
// function by that masks them. of names the list of the text.
func eachHidable(f *farm.Farm, do func(of string, at *string, by func(string) string)) {
	if rules := f.Headers(); rules != nil {
		eachRule("farm", rules, do)
	}
	services := f.Services()
	for i := range services {
		s := &services[i]
		of := "service " + s.Name
		eachRule(of, &s.HeaderRules, do)
		for k := range s.HeadRequire {
			do(of+" headrequire", &s.HeadRequire[k], hideLine)
		}
		for k := range s.HeadDeny {
			do(of+" headdeny", &s.HeadDeny[k], hideLine)
		}
		for k := range s.Rewrites {
			do(of+" rewrite pattern", &s.Rewrites[k].Pattern, hideValue)
			do(of+" rewrite replace", &s.Rewrites[k].Replace, hideValue)
		}
	}
}

func eachRule(of string, r *farm.HeaderRules, do func(of string, at *string, by func(string) string)) {
	for name, list := range map[string][]farm.HeaderAdd{" addrequestheader": r.AddRequest, " addresponseheader": r.AddResponse} {
		for i := range list {
			do(of+name, &list[i].Header, hideLine)
		}
	}
	for name, list := range map[string][]farm.HeaderRemove{" removerequestheader": r.RemoveRequest, " removeresponseheader": r.RemoveResponse} {
		for i := range list {
			do(of+name, &list[i].Pattern, hideLine)
		}
	}
	for name, list := range map[string][]farm.HeaderReplace{" replacerequestheader": r.ReplaceRequest, " replaceresponseheader": r.ReplaceResponse} {
		for i := range list {
			by := hideValue
			if veils().name.MatchString(list[i].Header) {
				by = hideWhole
			}
			do(of+name+" match "+list[i].Header, &list[i].Match, by)
			do(of+name+" replace "+list[i].Header, &list[i].Replace, by)
		}
	}
}

// hideWhole masks a text that contains more than regex operators.
func hideWhole(text string) string {
	if strings.Trim(text, ` .*+?$^()`) == "" {
		return text
	}
	return probe.Hidden
}

// Header returns a header line with credentials masked.
func (v Veil) Header(line string) string {
	if !v.Headers {
		return line
	}
	return hideLine(line)
}

// Diff returns a diff of documents with credentials masked. It sees only lines, so it masks
// more than Apply.
func (v Veil) Diff(text string) string {
	if v == (Veil{}) || text == "" {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimRight(line, "\n")
		out.WriteString(hideDiffLine(body) + line[len(body):])
	}
	return out.String()
}

func hideDiffLine(line string) string {
	if m := veils().replaced.FindStringSubmatch(line); m != nil {
		return m[1] + probe.Hidden
	}
	if credentialFields.MatchString(line) && !headerFields.MatchString(line) {
		return hideForm(line)
	}
	if m := veils().line.FindStringSubmatch(line); m != nil {
		return m[1] + m[2] + m[3] + " " + probe.Hidden
	}
	return hideValue(line)
}
