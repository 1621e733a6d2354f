// Package shell is an interactive shell for commands. Lines are split into words as in sh,
// without expansion. It has history and completion on a terminal, and reads scripts from
// other input. Shell.Run executes the commands.
package shell
