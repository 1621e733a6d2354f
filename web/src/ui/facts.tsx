import { Table } from '@mantine/core';
import type { ReactNode } from 'react';

/** Facts shows named values; unknown ones are omitted. */
export function Facts({ facts }: { facts: [string, ReactNode][] }) {
  return (
    <Table verticalSpacing={4} variant="vertical" layout="auto">
      <Table.Tbody>
        {facts
          .filter(([, value]) => value !== undefined && value !== null && value !== '')
          .map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th w="11rem" fw={500} scope="row">
                {name}
              </Table.Th>
              <Table.Td className="text">{value}</Table.Td>
            </Table.Tr>
          ))}
      </Table.Tbody>
    </Table>
  );
}
