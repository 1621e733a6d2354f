package probe

// A command that starts a program is another matter than a check that Sluice runs itself:
// a program does what its words say, on this machine. So a right of its own is needed to
// set one, and some programs are not fit for new commands.

// Started returns the program that a command starts; "" if Sluice runs the check itself,
// or if nothing can be run.
func Started(command string) (program string) {
	program, _ = known.Load().started(command)
	return program
}

// Unfit says why a command that was not there before may not start its program; nil if
// it may, or if it starts none.
func Unfit(command string) error {
	k := known.Load()
	program, args := k.started(command)
	if program == "" || k.Unfit == nil {
		return nil
	}
	return k.Unfit(program, args)
}

// started is Started, with the program's words. Secrets among these are not opened.
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
