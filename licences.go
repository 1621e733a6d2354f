package sluice

import _ "embed" // Licences

// Licences contains the licence texts of the modules in the program, and of Go itself. `go
// test . -update` writes them from the module cache, and from web/node_modules.
//
//go:embed LICENCES
var Licences string

// GUILicences contains the licence texts of the npm packages in the GUI.
//
//go:embed web/LICENCES
var GUILicences string
