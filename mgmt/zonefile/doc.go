// Package zonefile reads and writes zones of gslb farms as master files (RFC 1035 §5). It
// checks the format, and whether the data of a record fit its type. Package mgmt/validate
// has the rules for the combination of records.
//
// Records of type DYNA, which other servers do not support, are written as a type of
// private use (RFC 3597 §5), so that other servers can read the file. They are read in that
// form or as "www DYNA shop". Services created for ALIAS records are written back as ALIAS,
// and ALIAS records written by other servers are read.
package zonefile
