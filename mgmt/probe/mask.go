package probe

import (
	"path"
	"slices"
	"strings"
)

// Hidden stands in place of what nobody is shown.
const Hidden = "***"

// secretive reports whether the value of a flag is a secret whatever the program is.
func secretive(flag string) bool {
	flag = strings.ToLower(flag)
	return strings.HasPrefix(flag, "-") && slices.ContainsFunc([]string{"pass", "secret", "token", "community", "credential", "auth"}, func(word string) bool { return strings.Contains(flag, word) })
}

// secretShort are the letters plugins use for them.
var secretShort = []string{"-a", "-A", "-P", "-X", "-C"}

// Masked is the command with every secret hidden, as it may be shown and logged. What
// cannot be read is hidden as a whole.
func Masked(command string) string { return known.Load().Masked(command) }

// Masked is Masked for these checks; of nil it guesses.
func (k *Known) Masked(command string) string {
	s, err := split(command)
	switch {
	case plain(command) != command, len(s.words) == 0 && err == nil:
		return command // no secrets are in these
	case err != nil:
		return Hidden
	}
	shown, rest := "", command
	secrets := k.secretWords(s.words[0], s.words[1:])
	for i, raw := range s.raw {
		before, after, _ := strings.Cut(rest, raw)
		shown, rest = shown+before, after
		if value := secrets[i]; value != "" { // [0] is the name, which is none
			raw = strings.TrimSuffix(s.words[i], value) + Hidden
		}
		shown += raw
	}
	return shown + rest
}

// SecretWords are values of flags for passwords among the words of a command: what nobody
// is shown.
func SecretWords(name string, words []string) []string {
	return slices.DeleteFunc(known.Load().secretWords(name, words), func(s string) bool { return s == "" })
}

// secretWords has for the name and each word what is secret in it: the word, its end, or
// "" for nothing.
func (k *Known) secretWords(name string, words []string) []string {
	secret := unknownSecret
	if k != nil && k.Checks[path.Base(name)] != nil {
		f := &Flags{}
		k.Checks[path.Base(name)](f)
		secret = f.secret
	}
	out := make([]string, 1+len(words))
	for i := 0; i < len(words); i++ {
		value, inNext := secret(words[i])
		if inNext && i+1 < len(words) {
			i++
			value = words[i]
		}
		if value != HostToken && value != PortToken {
			out[i+1] = value
		}
	}
	return out
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

// secret finds the secret in a word, or says that the next word is one.
func (f *Flags) secret(word string) (value string, inNext bool) {
	if name, value, given := strings.Cut(word, "="); strings.HasPrefix(word, "--") {
		if one := f.known[name]; one == nil || !one.secret {
			return unknownSecretLong(name, value, given, one == nil)
		}
		return value, !given
	}
	if len(word) < 2 || word[0] != '-' {
		return "", false
	}
	for at := 1; at < len(word); at++ {
		one := f.known["-"+word[at:at+1]]
		switch {
		case one == nil:
			return "", false
		case one.takes == nothing:
		case one.secret:
			return word[at+1:], word[at+1:] == ""
		default:
			return "", false
		}
	}
	return "", false
}

func unknownSecretLong(name, value string, given, unknown bool) (string, bool) {
	if !unknown || !secretive(name) {
		return "", false
	}
	return value, !given
}

// unknownSecret guesses for programs of others: better one word too many.
func unknownSecret(word string) (value string, inNext bool) {
	if name, value, given := strings.Cut(word, "="); secretive(name) {
		return value, !given
	}
	for _, s := range secretShort {
		if after, is := strings.CutPrefix(word, s); is {
			return after, after == ""
		}
	}
	return "", false
}
