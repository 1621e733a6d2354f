package main

import (
	"fmt"
	"go/version"
	"regexp"
	"strings"

	"golang.org/x/mod/semver"
)

// fix is one line of the list: the first version that has the fix.
type fix struct {
	line       int
	kind, name string
	version    string
	advisories []string
	reason     string
}

var advisory = regexp.MustCompile(`^(GO-\d{4}-\d+|CVE-\d{4}-\d+|GHSA(-[0-9a-z]{4}){3})$`)

// parse reads the list. Comments start with # at the beginning of a line.
func parse(text string) ([]fix, error) {
	var out []fix
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		f, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		f.line = i + 1
		out = append(out, f)
	}
	return out, nil
}

func parseLine(line string) (fix, error) {
	words := strings.Fields(line)
	if len(words) < 5 {
		return fix{}, fmt.Errorf("%q: a line has kind, name, version, advisories and a reason", line)
	}
	f := fix{kind: words[0], name: words[1], version: words[2], advisories: strings.Split(words[3], ","), reason: strings.Join(words[4:], " ")}
	if !isVersion(f.kind, f.version) {
		return fix{}, fmt.Errorf("%q is no version of kind %q", f.version, f.kind)
	}
	for _, id := range f.advisories {
		if !advisory.MatchString(id) {
			return fix{}, fmt.Errorf("%q is no advisory: GO-…, CVE-… or GHSA-…", id)
		}
	}
	return f, nil
}

// isVersion reports whether v is written as its kind writes versions.
func isVersion(kind, v string) bool {
	switch kind {
	case "go":
		return version.IsValid(v)
	case "module", "tool":
		return semver.IsValid(v)
	case "npm":
		return semver.IsValid("v" + v)
	}
	return false
}

// older reports whether version have lacks the fix.
func (f *fix) older(have string) bool {
	switch f.kind {
	case "go":
		return version.Compare(have, f.version) < 0
	case "npm":
		return semver.Compare("v"+have, "v"+f.version) < 0
	default:
		return semver.Compare(have, f.version) < 0
	}
}

// check returns a message for each version in use that lacks a fix, and for each fix
// of something that is not in use.
func check(fixes []fix, have versions) (faults []string) {
	for _, f := range fixes {
		found := have[f.kind][f.name]
		if len(found) == 0 {
			faults = append(faults, fmt.Sprintf("line %d: %s %s is not in use any more; remove the line", f.line, f.kind, f.name))
		}
		for _, v := range found {
			if f.older(v) {
				faults = append(faults, fmt.Sprintf("%s %s %s lacks the fix of %s (%s): update it to %s or later",
					f.kind, f.name, v, strings.Join(f.advisories, ", "), f.reason, f.version))
			}
		}
	}
	return faults
}
