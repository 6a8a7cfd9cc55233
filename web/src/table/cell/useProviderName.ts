import { useQuery } from '@tanstack/react-query';
import { providersQuery } from '../../api/queries';

/** Names of providers that need no key and are not in the list. */
const OTHERS: Record<string, string> = { 'http-api': 'HTTP request', 'web-scraper': 'Web page' };

/** The display name of a provider. */
export function useProviderName(): (id: string) => string {
  const providers = useQuery(providersQuery);
  return (id) => OTHERS[id] ?? providers.data?.find((provider) => provider.id === id)?.label ?? id;
}
