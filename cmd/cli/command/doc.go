// Package command is the toolkit of the command line: arguments and settings, help and manual
// pages, completion, output as tables and JSON, confirmation, dry runs and --watch.
//
// A command is a function over a Line, which holds the appliance, the common flags and the
// state of the running command. Line.Do decides whether a request is sent, shown or tried.
// Flags that depend on what a command does are added by the lists in Words.
package command
