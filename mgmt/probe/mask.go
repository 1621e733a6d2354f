package probe

import (
	"slices"
	"strings"
)

// Hidden is shown in place of secrets.
const Hidden = "***"

// Masked returns the command with every secret hidden, for display and for logs. A command
// that cannot be parsed is hidden as a whole.
func Masked(command string) string { return known.Load().Masked(command) }

// Masked is the function Masked for these checks. If k is nil, it guesses which words are
// secret.
func (k *Known) Masked(command string) string {
	shown, err := k.replace(command, func(string, string) (string, error) { return Hidden, nil })
	if err != nil {
		return Hidden
	}
	return shown
}

// SecretWords returns the secrets among the words of a command: the values of flags for
// passwords.
func SecretWords(name string, words []string) []string {
	return slices.DeleteFunc(known.Load().secretWords(name, words), func(s string) bool { return s == "" })
}

// Hide hides secrets in a text.
func Hide(text string, secrets []string) string {
	secrets = slices.Clone(secrets)
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // longer secrets first, since they may contain others
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, Hidden)
	}
	return text
}
