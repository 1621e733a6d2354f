package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	form = regexp.MustCompile(`^[.a-z0-9][\w./, *-]*: (\S+) \S|^[A-Z]+(?:\.md)?: (\S+) \S`)
	// noVerb are first words of subjects that describe instead of saying what to do.
	noVerb = regexp.MustCompile(`^(?i:what|who|whose|a|an|the|each|every|all|one|no|nothing|when|where|of|it|there|that|two|three|tests|only)$`)
	states = regexp.MustCompile(`^\w+(?: \w+)? (?:is|are|was|were|has|have) `)
)

// subjectFault returns what is wrong with the subject of a commit, else "".
func subjectFault(subject string) string {
	if n := utf8.RuneCountInString(subject); n > 70 {
		return fmt.Sprintf("%d characters, at most 70 are allowed", n)
	}
	m := form.FindStringSubmatch(subject)
	if m == nil {
		return `the form is "area: verb …", in the imperative`
	}
	if first := m[1] + m[2]; noVerb.MatchString(first) {
		return fmt.Sprintf("begins with %q, not with a verb in the imperative", first)
	}
	_, rest, _ := strings.Cut(subject, ": ")
	if states.MatchString(rest) {
		return "describes a state: say what the commit does, in the imperative"
	}
	return judge(strings.ToUpper(rest[:1]) + rest[1:] + ".")
}

// subjects returns one line for each commit of a range with a fault.
func subjects(commits string) ([]string, error) {
	out, err := exec.Command("git", "log", "--no-merges", "--format=%h %s", commits).Output()
	if err != nil {
		return nil, fmt.Errorf("git log %s: %w", commits, err)
	}
	var faults []string
	for line := range strings.Lines(string(out)) {
		hash, subject, _ := strings.Cut(strings.TrimSpace(line), " ")
		if why := subjectFault(subject); why != "" {
			faults = append(faults, fmt.Sprintf("%s %s: %s", hash, subject, why))
		}
	}
	return faults, nil
}
