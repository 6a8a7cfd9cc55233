import { Button, Group, Table, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { fieldErrors, errorMessage } from '../api/error';
import { createTeam, listTeams, renameTeam } from '../api/operations';
import { sessionQuery, teamQuery } from '../api/queries';
import { useSession } from '../shell/session';
import { CopyField } from '../ui/CopyField';
import { notify } from '../ui/notify';
import { Card } from './Card';
import { OneTimeSecret } from './OneTimeSecret';
import classes from './Settings.module.css';

export function TeamSection() {
  const session = useSession();
  return (
    <>
      <TeamName />
      {session.canManageTeams && <Teams />}
    </>
  );
}

function TeamName() {
  const session = useSession();
  const team = useQuery(teamQuery);
  const queryClient = useQueryClient();
  const [name, setName] = useState(session.team.name);
  const save = useMutation({
    mutationFn: () => renameTeam(name.trim()),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
      notify('Team renamed.');
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Card title="Your team" guide="keys" text="Projects, keys and secrets belong to a team. Other teams cannot see them.">
      <form onSubmit={submit}>
        <Group align="flex-end">
          <TextInput label="Name" value={name} flex={1} maxLength={255} onChange={(event) => setName(event.currentTarget.value)} error={save.isError ? errorMessage(save.error) : undefined} />
          <Button type="submit" loading={save.isPending} disabled={!name.trim() || name.trim() === session.team.name}>
            Rename
          </Button>
        </Group>
      </form>
      <CopyField label="Slug (API v3)" value={session.team.slug} />
      <CopyField label="Team ID" value={session.team.id} />
      {team.data && <CopyField label="Webhook URL for the event platform" value={team.data.webhookUrl} />}
    </Card>
  );
}

function Teams() {
  const teams = useQuery({ queryKey: ['teams'], queryFn: async () => (await listTeams()).teams });
  const queryClient = useQueryClient();
  const [slug, setSlug] = useState('');
  const [name, setName] = useState('');
  const create = useMutation({
    mutationFn: () => createTeam(slug.trim(), name.trim()),
    onSuccess: () => {
      setSlug('');
      setName('');
      void queryClient.invalidateQueries({ queryKey: ['teams'] });
    },
  });
  const errors = fieldErrors(create.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  return (
    <Card title="Teams on this server" text="Your team administers this server and can create other teams. A new team starts with one API key: send it to the team.">
      <form onSubmit={submit}>
        <Group align="flex-end">
          <TextInput
            label="Slug"
            placeholder="acme"
            value={slug}
            error={errors.slug}
            onChange={(event) => setSlug(event.currentTarget.value.toLowerCase().replace(/[^a-z0-9-]/g, '-'))}
          />
          <TextInput label="Name" placeholder="Acme Ltd" flex={1} value={name} onChange={(event) => setName(event.currentTarget.value)} />
          <Button type="submit" disabled={!slug.trim()} loading={create.isPending}>
            Create team
          </Button>
        </Group>
        {create.isError && !errors.slug && (
          <Text size="sm" c="red" mt="xs" role="alert">
            {errorMessage(create.error)}
          </Text>
        )}
      </form>
      {create.data && <OneTimeSecret label={`First API key of ${create.data.team.name}`} secret={create.data.secret} onClose={() => create.reset()} />}
      <Table fz="sm" verticalSpacing={6} className={classes.stacked}>
        <Table.Tbody>
          {teams.data?.map((team) => (
            <Table.Tr key={team.id}>
              <Table.Td fw={600}>{team.name}</Table.Td>
              <Table.Td className="mono">{team.slug}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Card>
  );
}
