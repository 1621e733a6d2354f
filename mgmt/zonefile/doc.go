// Package zonefile reads and writes zones of gslb farms as master files (RFC 1035 §5).
// It knows the format, and whether a record has the words of its type; what records may be
// beside each other say the rules (mgmt/validate).
//
// Records of type DYNA, which no other server has, are written as a type of private use
// (RFC 3597 §5), so that other servers read the file, and read in that form or as
// "www DYNA shop". Services that were made for records of type ALIAS are written as these,
// which servers that have the type read, and so is what they write.
package zonefile
