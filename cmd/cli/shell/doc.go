// Package shell is where commands are typed one after the other: lines become words as in
// sh, without any expansion; on a terminal with a history and completion, and from
// anything else as a script. What the commands are it does not know: Shell.Run does.
package shell
