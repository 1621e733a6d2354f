package probe

import (
	"path"
	"strings"
)

// Sealed is the command with each secret replaced by what seal makes of it, for the
// program it belongs to. A command that has none, or that every appliance has as a
// template, stays as it is written.
func Sealed(command string, seal func(program, secret string) (string, error)) (string, error) {
	for _, t := range Templates() {
		if command == t.Command {
			return command, nil
		}
	}
	return known.Load().replace(command, seal)
}

// ParseSealed is Parse for a command whose secrets are opened by open, word by word.
func ParseSealed(command string, open func(program, secret string) (string, error)) (Probe, error) {
	k := known.Load()
	if k == nil {
		return nil, ErrNone
	}
	return k.parse(command, open)
}

// Check says what is wrong with a command as Parse does, whatever its secrets are, which
// may be sealed. A process that knows no checks finds nothing wrong.
func Check(command string) error {
	k := known.Load()
	if k == nil {
		return nil
	}
	_, err := k.parse(command, func(string, string) (string, error) { return "x", nil })
	return err
}

// replace writes a command with other secrets.
func (k *Known) replace(command string, by func(program, secret string) (string, error)) (string, error) {
	s, err := split(command)
	switch {
	case plain(command) != command, len(s.words) == 0 && err == nil:
		return command, nil // no secrets are in these
	case err != nil:
		return "", err
	}
	written, rest := "", command
	secrets := k.secretWords(s.words[0], s.words[1:])
	for i, raw := range s.raw {
		before, after, _ := strings.Cut(rest, raw)
		written, rest = written+before, after
		if old := secrets[i]; old != "" { // [0] is the name, which is none
			now, err := by(path.Base(s.words[0]), old)
			if err != nil {
				return "", err
			}
			if now != old {
				raw = quoted(strings.TrimSuffix(s.words[i], old) + now)
			}
		}
		written += raw
	}
	return written + rest, nil
}

// quoted writes a word so that split reads it again.
func quoted(word string) string {
	if strings.IndexFunc(word, func(r rune) bool { return r >= 0x80 || !wordly(byte(r)) && !strings.ContainsRune("-+=:,./@%*", r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
}
