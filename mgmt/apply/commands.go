package apply

import (
	"errors"
	"fmt"

	"github.com/sluicelb/sluice/core/farm"
	"github.com/sluicelb/sluice/mgmt/probe"
	"github.com/sluicelb/sluice/mgmt/store"
	"github.com/sluicelb/sluice/mgmt/validate"
)

// Passwords within the commands of checks are sealed word by word: what is kept, shown
// and compared has a token in place of each, which is opened when a probe is made of the
// command, and nowhere else.

// commandPurpose is what a secret of a command is sealed for: no other program is given it.
func commandPurpose(program string) string { return "check " + program + " command" }

// sealCommands leaves no password in the commands of cfg. One that is the same as before
// keeps its token, so that the document stays the same, too.
func (a *Applier) sealCommands(old, cfg *farm.Config) error {
	for i := range cfg.Checks {
		c := &cfg.Checks[i]
		before := ""
		if at := farm.CheckAt(old.Checks, c.Name); at >= 0 {
			before = old.Checks[at].Command
		}
		if c.Command == before {
			continue
		}
		sealed, err := a.sealedCommand(before, c.Command)
		if err == nil && len(sealed) > validate.MaxCommand {
			err = fmt.Errorf("is %d bytes long with its passwords sealed, %d at most are possible: write a shorter one", len(sealed), validate.MaxCommand)
		}
		if err != nil {
			return &validate.Error{Path: validate.CheckPath(c.Name), Field: "command", Message: "command " + err.Error()}
		}
		c.Command = sealed
	}
	return nil
}

func (a *Applier) sealedCommand(before, command string) (string, error) {
	return a.sealedWith(tokens(before), command)
}

// sealedWith is a command with its passwords sealed, those that are known by the tokens
// they have.
func (a *Applier) sealedWith(known map[string][]farm.Secret, command string) (string, error) {
	return probe.Sealed(command, func(program, secret string) (string, error) {
		sealed, err := a.sealed(commandPurpose(program), known[program], farm.Secret(secret))
		switch {
		case errors.Is(err, errForeignSecret):
			return "", fmt.Errorf("has a password that was sealed by another appliance, or for another program than %s, and cannot be read here: write the password itself", program)
		case err != nil:
			return "", fmt.Errorf("has a password that %w", err)
		}
		return string(sealed), nil
	})
}

// tokens are the secrets of a command as they stand in it, by the program they are for.
func tokens(command string) map[string][]farm.Secret {
	out := map[string][]farm.Secret{}
	_, _ = probe.Sealed(command, func(program, secret string) (string, error) {
		out[program] = append(out[program], farm.Secret(secret))
		return secret, nil
	})
	return out
}

// SameCommand reports whether two commands ask the same, however their passwords are
// written.
func SameCommand(s Secrets, a, b string) bool {
	if a == b {
		return true
	}
	x, errX := opened(s, a)
	y, errY := opened(s, b)
	return errX == nil && errY == nil && x == y
}

func opened(s Secrets, command string) (string, error) {
	return probe.Sealed(command, func(program, secret string) (string, error) {
		return Reveal(s, commandPurpose(program), farm.Secret(secret))
	})
}

// ParseCommand makes the probe of a command whose passwords may be sealed.
func ParseCommand(s Secrets, command string) (probe.Probe, error) {
	return probe.ParseSealed(command, func(program, secret string) (string, error) {
		plain, err := Reveal(s, commandPurpose(program), farm.Secret(secret))
		if err != nil {
			return "", errors.New("its password was sealed by another appliance, or for another program, and cannot be read here: change the command of the check")
		}
		return plain, nil
	})
}

// rewritten is the document that says that no revision has a password in a command.
const rewritten = store.HistoryPrefix + "commands-sealed"

// sealHistory seals what a release wrote that sealed no passwords of commands: those in
// force and in older revisions. One that is the same in several gets the same token, so
// that their differences stay what they were.
func (a *Applier) sealHistory() {
	if a.secrets == nil {
		return
	}
	known, sealed := map[string]map[string][]farm.Secret{}, map[string]string{}
	n, err := a.store.RewriteChecks(rewritten, func(checks []farm.Check) error {
		for i := range checks {
			c := &checks[i]
			key := c.Name + " " + c.Command
			if _, done := sealed[key]; !done {
				if known[c.Name] == nil {
					known[c.Name] = map[string][]farm.Secret{}
				}
				sealed[key] = a.sealOld(known[c.Name], c)
			}
			c.Command = sealed[key]
		}
		return nil
	})
	switch {
	case err != nil:
		a.log.Error("passwords in commands of checks stay readable in the store", "error", err)
	case n > 0:
		a.log.Warn("passwords in commands of checks are sealed from now on: backups that were made before have them as they are", "revisions", n)
	}
}

// sealOld is the command of a check of a release before. One that cannot be sealed stays.
func (a *Applier) sealOld(known map[string][]farm.Secret, c *farm.Check) string {
	command, err := a.sealedWith(known, c.Command)
	if err == nil && len(command) > validate.MaxCommand {
		err = errors.New("it is too long with its passwords sealed")
	}
	if err != nil {
		a.log.Warn("the password in the command of a check stays readable: change it", "check", c.Name, "reason", err)
		return c.Command
	}
	for program, tokens := range tokens(command) {
		known[program] = append(known[program], tokens...)
	}
	return command
}
