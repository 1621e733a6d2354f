package probe

import (
	"slices"
	"strings"
)

// Hidden stands in place of what nobody is shown.
const Hidden = "***"

// Masked is the command with every secret hidden, as it may be shown and logged. What
// cannot be read is hidden as a whole.
func Masked(command string) string { return known.Load().Masked(command) }

// Masked is Masked for these checks; of nil it guesses.
func (k *Known) Masked(command string) string {
	shown, err := k.replace(command, func(string, string) (string, error) { return Hidden, nil })
	if err != nil {
		return Hidden
	}
	return shown
}

// SecretWords are values of flags for passwords among the words of a command: what nobody
// is shown.
func SecretWords(name string, words []string) []string {
	return slices.DeleteFunc(known.Load().secretWords(name, words), func(s string) bool { return s == "" })
}

// Hide hides secrets in a text.
func Hide(text string, secrets []string) string {
	secrets = slices.Clone(secrets)
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // a secret within another one last
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, Hidden)
	}
	return text
}
