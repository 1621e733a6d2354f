package probe

// A command that starts a program is more dangerous than a built-in check: a program does
// anything its words say on this machine. So setting such a command needs a right of its
// own, and some programs are refused in new commands.

// Started returns the program that a command starts. It is "" if Sluice runs the check
// itself, or if nothing can be run.
func Started(command string) (program string) {
	program, _ = known.Load().started(command)
	return program
}

// Unfit returns why a new command may not start its program. It returns nil if it may, or
// if it starts no program.
func Unfit(command string) error {
	k := known.Load()
	program, args := k.started(command)
	if program == "" || k.Unfit == nil {
		return nil
	}
	return k.Unfit(program, args)
}

// started is Started and also returns the words of the program. It does not open secrets
// among them.
func (k *Known) started(command string) (program string, args []string) {
	if k == nil {
		return "", nil
	}
	name, args, err := k.read(command, func(_, _ string) (string, error) { return "x", nil })
	if err != nil {
		return "", nil
	}
	if _, _, is, _ := k.builtIn(name, args); !is {
		return "", nil
	}
	return name, args
}
